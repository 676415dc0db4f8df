import EventLoop
import HTTPServer
import JSON
import Jobs
import Redis
import Registry

extension DeviceAPI {
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
    return DeviceAPI.success(
      [
        ("platformEndpointArn", .string(arn(of: device))),
        ("registrationDate", .string(Timestamp.text(device.createdAt ?? device.updatedAt))),
      ], status: 201)
  }

  func update(_ request: SidecarRequest, _ registry: Registry) async throws(Refusal) -> HTTPResponse {
    let body = try request.jsonObject()
    let spellings = try RequestFields.spellings(body["currentToken"]?.string, "currentToken")
    let new = try RequestFields.hexToken(body["newToken"]?.string, "newToken")
    let userID = try RequestFields.userID(body["userId"]?.string)
    for current in spellings {
      let device: Device?
      do {
        device = try await registry.replace(token: current, with: new, of: userID, now: Clock.unixMilliseconds)
      } catch { throw Refusal(error) }
      guard let device else { continue }
      return DeviceAPI.success([
        ("platformEndpointArn", .string(arn(of: device))), ("lastUpdated", .string(Timestamp.text(device.updatedAt))),
      ])
    }
    throw .deviceNotFound
  }

  func delete(_ request: SidecarRequest, _ registry: Registry) async throws(Refusal) -> HTTPResponse {
    let sent = request.parameter.flatMap { FormEncoding.decoded($0) }
    for token in try RequestFields.spellings(sent, "deviceToken") {
      let isRemoved: Bool
      do { isRemoved = try await registry.forget(token: token) } catch { throw Refusal(error) }
      guard isRemoved else { continue }
      return DeviceAPI.success([("deletedAt", .string(Timestamp.text(Clock.unixMilliseconds)))])
    }
    throw .deviceNotFound
  }

  func list(_ request: SidecarRequest, _ registry: Registry) async throws(Refusal) -> HTTPResponse {
    let query = try DeviceListQuery(request.http.query)
    let page: DevicePage
    do {
      page = try await registry.devices(of: query.userID, after: query.after, limit: query.limit)
    } catch { throw Refusal(error) }
    if !page.removals.isEmpty { registry.clean(user: query.userID, page.removals) { _ in } }
    var members: [(String, JSONValue)] = [("devices", .array(page.devices.map { entry($0, of: query.userID) }))]
    if page.hasMore, let last = page.devices.last {
      let next = DevicePageToken(userID: query.userID, deviceToken: last.token)
      members.append(("nextToken", .string(next.text)))
    }
    return DeviceAPI.success(members)
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

  private static func success(_ members: [(String, JSONValue)], status: Int = 200) -> HTTPResponse {
    let success = JSONMember(key: "success", value: .bool(true))
    return .json(.object([success] + members.map { JSONMember(key: $0.0, value: $0.1) }), status: status)
  }
}
