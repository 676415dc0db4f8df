import Credentials
import Crypto
import EventLoop
import HTTPServer
import JSON
import Jobs
import PushModel
import Redis
import Registry

/// The devices of users, for backends: docs/http/device-api.md.
@EventLoop
struct DeviceAPI: HTTPAPI {
  /// The values that the document states.
  private static let crossOrigin: [(name: String, value: String)] = [
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS"),
    ("Access-Control-Allow-Headers", "Content-Type, X-Amz-Date, Authorization, X-Api-Key, X-Amz-Security-Token"),
  ]

  let context: APIContext

  let routes = ["", "/v1"].flatMap { ["\($0)/devices", "\($0)/devices/", "\($0)/devices/{deviceToken}"] }
  let roots = ["/devices/", "/v1/devices/"]

  func needsBody(_ request: SidecarRequest) -> Bool {
    ["POST", "PUT"].contains(request.method) && DeviceAPI.methods(of: request).contains(request.method)
      && context.storage?.access.mayHaveAPIKey(request.http) == true
  }

  func respond(to request: SidecarRequest) async throws(Refusal) -> HTTPResponse {
    try await answer(request).with(DeviceAPI.crossOrigin)
  }

  func response(to refusal: Refusal, of request: HTTPRequest) -> HTTPResponse {
    refusal.responseWithMessage.with(DeviceAPI.crossOrigin)
  }

  private static func methods(of request: SidecarRequest) -> [String] {
    let isOneDevice = !request.route.hasSuffix("/devices")
    return isOneDevice ? ["DELETE", "OPTIONS"] : ["GET", "POST", "PUT", "OPTIONS"]
  }

  private func answer(_ request: SidecarRequest) async throws(Refusal) -> HTTPResponse {
    if request.method == "OPTIONS" { return HTTPResponse(status: 204) }
    let allowed = DeviceAPI.methods(of: request)
    guard allowed.contains(request.method) else {
      let list = allowed.joined(separator: ", ")
      throw .methodNotAllowed(list, "Allowed here: \(list)")
    }
    let storage = try context.requireStorage()
    let key = try await storage.access.apiKey(of: request.http, for: .devices)
    try await storage.access.admit(key)
    let registry = storage.backend.registry
    return switch request.method {
    case "POST": try await create(request, key, registry)
    case "PUT": try await update(request, key, registry)
    case "DELETE": try await delete(request, key, registry)
    default: try await list(request, key, registry)
    }
  }
}

extension DeviceAPI {
  /// 201, also for a device that the user already has, which keeps its registration date.
  func create(
    _ request: SidecarRequest, _ key: Credential, _ registry: Registry
  ) async throws(Refusal) -> HTTPResponse {
    let body = try RequestBody.object(request.http.body)
    let traits = try DeviceTraits(body)
    let bundleID = traits.bundleID
    let fields = (
      token: try RequestFields.hexToken(body["deviceToken"]?.string, "deviceToken"),
      username: try RequestFields.newUserID(body["userId"]?.string)
    )
    let app = try key.app(named: bundleID, else: context.configuration.bundleID)
    let registration = Registration(
      token: fields.token, username: fields.username, platform: .ios, bundleID: app, isBundleAssumed: bundleID == nil,
      traits, now: Clock.unixMilliseconds)
    let device = try await register(registration, key, registry)
    let date = Timestamp.text(device.createdAt ?? device.updatedAt)
    return .json(["success": true, "platformEndpointArn": arn(of: device), "registrationDate": date], status: 201)
  }

  func update(
    _ request: SidecarRequest, _ key: Credential, _ registry: Registry
  ) async throws(Refusal) -> HTTPResponse {
    let body = try RequestBody.object(request.http.body)
    let current = try RequestFields.hexToken(body["currentToken"]?.string, "currentToken")
    let new = try RequestFields.hexToken(body["newToken"]?.string, "newToken")
    let userID = try RequestFields.userID(body["userId"]?.string)
    let traits = try DeviceTraits(body)
    if let bundleID = traits.bundleID { _ = try key.app(named: bundleID, else: nil) }
    let replacement = try await refusingFaults(
      await registry.replace(
        token: current, with: new, of: userID, within: scope(of: key), now: Clock.unixMilliseconds))
    var device: Device
    switch replacement {
    case .done(let replaced): device = replaced
    case .notFound: throw DeviceAPI.notFound
    case .foreign: throw key.foreignDevice
    }
    if !traits.isEmpty {
      // The new token is registered: what the request says about it comes on top.
      let registration = Registration(
        token: new, username: userID, platform: device.platform, bundleID: traits.bundleID, isBundleAssumed: false,
        traits, now: device.updatedAt)
      device = try await register(registration, key, registry)
    }
    return .json([
      "success": true, "platformEndpointArn": arn(of: device), "lastUpdated": Timestamp.text(device.updatedAt),
    ])
  }

  func delete(
    _ request: SidecarRequest, _ key: Credential, _ registry: Registry
  ) async throws(Refusal) -> HTTPResponse {
    let sent = request.parameter.flatMap { String(percentDecoding: $0) }
    let token = try RequestFields.hexToken(sent, "deviceToken")
    guard try await refusingFaults(await registry.forget(token: token, within: scope(of: key))) else {
      throw DeviceAPI.notFound
    }
    return .json(["success": true, "deletedAt": Timestamp.text(Clock.unixMilliseconds)])
  }

  private static let notFound = Refusal(.notFound, "Device not found")

  func list(
    _ request: SidecarRequest, _ key: Credential, _ registry: Registry
  ) async throws(Refusal) -> HTTPResponse {
    let query = try DeviceListQuery(request.http.query)
    let page = try await page(query, key, registry)
    let last = page.hasMore ? page.devices.last : nil
    return .json([
      "success": true, "devices": page.devices.map { entry($0, of: query.userID) },
      "nextToken": last.map { DevicePageToken(userID: query.userID, deviceToken: $0.token).text },
    ])
  }

  /// The devices of the apps that the key is for, without tokens of Live Activities. Others do not show, not even in where the next
  /// page begins.
  private func page(
    _ query: DeviceListQuery, _ key: Credential, _ registry: Registry
  ) async throws(Refusal) -> (devices: [Device], hasMore: Bool) {
    var found: [Device] = []
    var after = query.after
    while true {
      let page = try await refusingFaults(
        await registry.devices(of: query.userID, after: after, limit: query.limit))
      if !page.removals.isEmpty { registry.clean(user: query.userID, page.removals) { _ in } }
      let listed = page.devices.filter {
        $0.kind?.isOfActivities != true && key.isFor($0, else: context.configuration.bundleID)
      }
      if found.isEmpty, listed.count == page.devices.count { return (listed, page.hasMore) }
      found += listed
      guard page.hasMore, found.count <= query.limit, let last = page.devices.last else { break }
      after = last.token
    }
    return (Array(found.prefix(query.limit)), found.count > query.limit)
  }

  private func scope(of key: Credential) -> AppScope? { key.scope(else: context.configuration.bundleID) }

  private func register(
    _ registration: Registration, _ key: Credential, _ registry: Registry
  ) async throws(Refusal) -> Device {
    let enrollment = try await refusingFaults(await registry.register(registration, within: scope(of: key)))
    guard let enrollment else { throw key.foreignDevice }
    return enrollment.device
  }

  private func entry(_ device: Device, of userID: Username) -> JSONObject {
    [
      "deviceToken": device.token.text, "platformEndpointArn": arn(of: device), "userId": userID.text,
      "registrationDate": Timestamp.text(device.createdAt ?? device.updatedAt),
      "lastUpdated": Timestamp.text(device.updatedAt), "active": true, "bundleId": device.bundleID,
      "environment": device.environment?.rawValue, "kind": (device.kind ?? .app).rawValue, "deviceId": device.deviceID,
    ]
  }

  private func arn(of device: Device) -> String {
    device.platformEndpoint(
      defaultBundleID: context.configuration.bundleID, defaultEnvironment: context.configuration.defaultEnvironment)
  }
}

extension Device {
  /// The `platformEndpointArn`: `arn:martlet:push:<environment>:<bundleId>:endpoint/<uuid>`. It depends on the token, the
  /// app and the environment only.
  func platformEndpoint(defaultBundleID: String?, defaultEnvironment: PushEnvironment) -> String {
    let environment = (environment ?? defaultEnvironment).rawValue
    let bundleID = bundleID ?? defaultBundleID ?? ""
    return "arn:martlet:push:\(environment):\(bundleID):endpoint/\(Device.endpointID(of: token.text))"
  }

  /// Returns the token's SHA-256 in the form of a version 5 UUID.
  static func endpointID(of token: String) -> String {
    var bytes = Array(SHA256.digest(Array(token.utf8)).prefix(16))
    bytes[6] = bytes[6] & 0x0F | 0x50
    bytes[8] = bytes[8] & 0x3F | 0x80
    let groups = [bytes[0..<4], bytes[4..<6], bytes[6..<8], bytes[8..<10], bytes[10..<16]]
    return groups.map { Hex.encode(Array($0)) }.joined(separator: "-")
  }
}
