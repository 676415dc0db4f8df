import EventLoop
import HTTPServer
import JSON
import Jobs
import Redis
import Registry

extension DevicesSurface {
  private static let limits = 1...100
  private static let defaultLimit = 10

  /// 201, also for a device that the user has: the date of its registration stays.
  func create(_ request: SidecarRequest, _ registry: Registry) async throws(Refusal) -> HTTPResponse {
    let body = try request.jsonObject()
    let bundleID = try RequestFields.bundleID(body["bundleId"], "bundleId")
    let registration = Registration(
      token: try RequestFields.hexToken(body["deviceToken"]?.string, "deviceToken"),
      username: try RequestFields.userID(body["userId"]?.string), platform: .ios,
      bundleID: bundleID ?? configuration.bundleID, isBundleAssumed: bundleID == nil, now: Clock.unixMilliseconds)
    let device: Device
    do { device = try await registry.enroll(registration).device } catch { throw Refusal(error) }
    return DevicesSurface.success(
      [
        ("platformEndpointArn", .string(arn(of: device))),
        ("registrationDate", .string(Timestamp.text(device.createdAt ?? device.updatedAt))),
      ], status: 201)
  }

  func update(_ request: SidecarRequest, _ registry: Registry) async throws(Refusal) -> HTTPResponse {
    let body = try request.jsonObject()
    let sent = body["currentToken"]?.string
    let current = try RequestFields.hexToken(sent, "currentToken")
    let new = try RequestFields.hexToken(body["newToken"]?.string, "newToken")
    let userID = try RequestFields.userID(body["userId"]?.string)
    let device: Device?
    do {
      device = try await DevicesSurface.first(of: [current, sent ?? current]) { token throws(RedisError) in
        try await registry.replace(token: token, with: new, of: userID, now: Clock.unixMilliseconds)
      }
    } catch { throw Refusal(error) }
    guard let device else { throw .deviceNotFound }
    return DevicesSurface.success([
      ("platformEndpointArn", .string(arn(of: device))), ("lastUpdated", .string(Timestamp.text(device.updatedAt))),
    ])
  }

  func delete(_ request: SidecarRequest, _ registry: Registry) async throws(Refusal) -> HTTPResponse {
    let sent = request.parameter.flatMap { FormEncoding.decoded($0) }
    let token = try RequestFields.hexToken(sent, "deviceToken")
    let isRemoved: Void?
    do {
      isRemoved = try await DevicesSurface.first(of: [token, sent ?? token]) { token throws(RedisError) in
        try await registry.forget(token: token) ? () : nil
      }
    } catch { throw Refusal(error) }
    guard isRemoved != nil else { throw .deviceNotFound }
    return DevicesSurface.success([("deletedAt", .string(Timestamp.text(Clock.unixMilliseconds)))])
  }

  func list(_ request: SidecarRequest, _ registry: Registry) async throws(Refusal) -> HTTPResponse {
    let userID = try RequestFields.userID(try DevicesSurface.item("userId", of: request))
    let limit = try DevicesSurface.limit(of: request)
    let after = try DevicesSurface.start(of: request, userID)
    let page: DevicePage
    do {
      page = try await registry.devices(of: userID, after: after?.deviceToken, limit: limit)
    } catch { throw Refusal(error) }
    if !page.removals.isEmpty { registry.clean(user: userID, page.removals) { _ in } }
    var members: [(String, JSONValue)] = [("devices", .array(page.devices.map { entry($0, of: userID) }))]
    if page.hasMore, let last = page.devices.last {
      let next = DevicePageToken(userID: userID, deviceToken: last.token)
      members.append(("nextToken", .string(next.text)))
    }
    return DevicesSurface.success(members)
  }

  private func entry(_ device: Device, of userID: String) -> JSONValue {
    .object([
      JSONMember(key: "deviceToken", value: .string(device.token)),
      JSONMember(key: "platformEndpointArn", value: .string(arn(of: device))),
      JSONMember(key: "userId", value: .string(userID)),
      JSONMember(key: "registrationDate", value: .string(Timestamp.text(device.createdAt ?? device.updatedAt))),
      JSONMember(key: "lastUpdated", value: .string(Timestamp.text(device.updatedAt))),
      JSONMember(key: "active", value: .bool(true)),
    ])
  }

  private func arn(of device: Device) -> String {
    PlatformEndpoint(
      device: device, defaultBundleID: configuration.bundleID, defaultEnvironment: configuration.defaultEnvironment
    ).arn
  }

  /// A token that another surface registered in upper case is found as it is written.
  private static func first<Found>(
    of spellings: [String], _ find: (String) async throws(RedisError) -> Found?
  ) async throws(RedisError) -> Found? {
    if let found = try await find(spellings[0]) { return found }
    return spellings[1] == spellings[0] ? nil : try await find(spellings[1])
  }

  /// An item of the query. Nil when it is missing or empty.
  private static func item(_ name: String, of request: SidecarRequest) throws(Refusal) -> String? {
    let values = request.http.query.filter { $0.name == name }.map(\.value)
    guard values.count < 2 else { throw Refusal(400, "Invalid \(name)", "\(name): given twice") }
    return values.first.flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func limit(of request: SidecarRequest) throws(Refusal) -> Int {
    guard let text = try item("limit", of: request) else { return defaultLimit }
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let limit = Int(text),
      limits.contains(limit)
    else {
      throw Refusal(
        400, "Invalid limit", "limit: expected a whole number from \(limits.lowerBound) to \(limits.upperBound)")
    }
    return limit
  }

  private static func start(of request: SidecarRequest, _ userID: String) throws(Refusal) -> DevicePageToken? {
    guard let text = try item("nextToken", of: request) else { return nil }
    guard let token = DevicePageToken(parsing: text, userID: userID) else {
      throw Refusal(400, "Invalid nextToken", "nextToken: expected the one of this user's last page, unchanged")
    }
    return token
  }

  private static func success(_ members: [(String, JSONValue)], status: Int = 200) -> HTTPResponse {
    let success = JSONMember(key: "success", value: .bool(true))
    return .json(.object([success] + members.map { JSONMember(key: $0.0, value: $0.1) }), status: status)
  }
}
