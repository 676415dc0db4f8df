import Credentials
import EventLoop
import HTTPServer
import JSON
import PushModel
import Redis
import Registry
import Telemetry

/// The push gateway of Matrix, `/_matrix/push/v1/notify`: docs/http/matrix-api.md.
@EventLoop
final class MatrixAPI: HTTPAPI {
  private typealias Target = (device: MatrixDevice, token: String, app: MatrixApps.App)
  /// The last refusal of a device, and whether it is registered.
  private typealias Standing = (refusal: RefusalNote?, isRegistered: Bool)

  var apps: MatrixApps
  private let context: APIContext
  private let unknownApps: ThrottledWarning<String>

  let routes = ["/_matrix/push/v1/notify"]
  let roots = ["/_matrix/"]

  /// Returns nil without a file of apps.
  init?(_ context: APIContext) {
    guard let apps = context.configuration.matrixApps else { return nil }
    self.apps = apps
    self.context = context
    unknownApps = ThrottledWarning { [log = context.log] count, id in
      log.warn(
        "pushers of Matrix were rejected, because no app has their app_id",
        [
          "appId": .init(id), "pushers": .init(count),
          "fix": "if the app is yours, add its app_id to the file of MARTLET_MATRIX and send SIGHUP",
        ])
    }
  }

  func needsBody(_ request: SidecarRequest) -> Bool { request.method == "POST" && context.storage != nil }

  func respond(to request: SidecarRequest) async throws(Refusal) -> HTTPResponse {
    guard request.method == "POST" else { throw .methodNotAllowed("POST") }
    let storage = try context.requireStorage()
    let notification = try MatrixNotification(try RequestBody.object(request.http.body))
    try await storage.access.admit(.notification, of: "address:" + storage.access.client(of: request.http))
    var (targets, rejected, jobs): ([Target], [String], [[UInt8]]) = ([], [], [])
    for device in notification.devices {
      if let target = target(device) { targets.append(target) } else { rejected.append(device.pushkey) }
    }
    for (target, standing) in zip(targets, try await standings(of: targets, storage.backend.connection)) {
      if let refusal = standing.refusal, target.device.isGone(by: refusal, of: target.app) {
        rejected.append(target.device.pushkey)
      } else if let push = MatrixPush(notification, to: target.device) {
        try await storage.access.admit(.notificationOfDevice, of: "token:" + target.token)
        if !standing.isRegistered { try await register(target, storage.backend.registry) }
        jobs.append(push.job(notification, to: target.device, target.token, of: target.app))
      }
    }
    if !jobs.isEmpty {
      let command = jobs.reduce(RedisCommand("LPUSH", context.configuration.queue)) { $0.with($1) }
      _ = try await refusingFaults(await storage.backend.connection.send(command))
    }
    return .json(["rejected": rejected])
  }

  /// Returns nil for a pusher that can never work.
  private func target(_ device: MatrixDevice) -> Target? {
    let app = apps.app(of: device.appID)
    if app == nil { unknownApps.note(device.appID.prefix(bytes: MatrixApps.idLength.upperBound)) }
    guard let app, let token = device.token, device.defaultPayload != nil else { return nil }
    return (device, token, app)
  }

  private func standings(of targets: [Target], _ connection: RedisClient) async throws(Refusal) -> [Standing] {
    let commands = targets.flatMap {
      [
        RedisCommand("GET", RegistryKeys.refusal(DeviceToken($0.token))),
        RedisCommand("EXISTS", RegistryKeys.token(DeviceToken($0.token))),
      ]
    }
    let replies = try await refusingFaults(await connection.replies(to: commands))
    return targets.indices.map { index in
      (replies[2 * index].bytes.flatMap(RefusalNote.init(parsing:)), replies[2 * index + 1].integer == 1)
    }
  }

  /// Registers an anonymous device, so that its environment is known and APNs' answers about it count from the time at which the
  /// pusher was set.
  private func register(_ target: Target, _ registry: Registry) async throws(Refusal) {
    let now = Clock.unixMilliseconds
    let registration = Registration(
      token: DeviceToken(target.token), username: "", platform: .ios, bundleID: target.app.bundleID,
      environment: target.app.environment, now: target.device.setAt == 0 ? now : min(target.device.setAt, now))
    _ = try await refusingFaults(await registry.register(registration))
  }

  /// `{"errcode","error"}`. A fault of Redis is 503: the homeserver sends the notification again.
  func response(to refusal: Refusal, of request: HTTPRequest) -> HTTPResponse {
    let body: JSONObject = ["errcode": refusal.reason.matrixCode, "error": refusal.message ?? refusal.error]
    return .json(body, status: refusal.cause == nil ? refusal.status : 503).with(refusal.headers)
  }
}

extension Refusal.Reason {
  /// The `errcode` of the Matrix specification.
  fileprivate var matrixCode: String {
    switch self {
    case .notJSON: "M_NOT_JSON"
    case .invalid: "M_BAD_JSON"
    case .notFound, .methodNotAllowed: "M_UNRECOGNIZED"
    case .bodyTooLarge, .headTooLarge: "M_TOO_LARGE"
    case .tooManyRequests: "M_LIMIT_EXCEEDED"
    case .malformed, .unauthorized, .forbidden, .serverError, .notConfigured, .unavailable: "M_UNKNOWN"
    }
  }
}
