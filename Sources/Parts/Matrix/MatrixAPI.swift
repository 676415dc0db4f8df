import Credentials
import EventLoop
import HTTPServer
import Jobs
import JSON
import Program
import PushModel
import Redis
import Registry
import Sidecar
import Telemetry

/// The push gateway of Matrix, `/_matrix/push/v1/notify`: docs/http/matrix-api.md.
@EventLoop
final class MatrixAPI: HTTPAPI {
  private typealias Target = (device: MatrixDevice, token: DeviceToken, app: MatrixApps.App)

  private let file: MatrixFile
  private var apps: MatrixApps
  private let context: APIContext
  private let unknownApps: ThrottledWarning<String>

  let routes = ["/_matrix/push/v1/notify"]
  let roots = ["/_matrix/"]
  /// An event has up to 65,536 bytes, and so has each event that a name comes from.
  let maximumBodyBytes = 1 << 20

  /// `apps` are those of the file now.
  init(_ context: APIContext, _ file: MatrixFile, _ apps: MatrixApps) {
    self.file = file
    self.apps = apps
    self.context = context
    unknownApps = ThrottledWarning { [log = context.log] count, id in
      // Operator: If `appId` is an app of yours, follow `fix`: homeservers delete these pushers.
      log.warn(
        "pushers of Matrix were rejected, because no app has their app_id",
        [
          "appId": .init(id), "pushers": .init(count),
          "fix": "if the app is yours, add its app_id to the file of MARTLET_MATRIX and send SIGHUP",
        ])
    }
  }

  var reload: (@EventLoop () -> Void)? { readAgain }

  /// Reads the file again and uses its apps. With a fault those in use stay.
  private func readAgain() {
    let (apps, faults) = file.read()
    let path = ValueQuote.text(file.path, as: .path)
    guard let fault = faults.first else {
      self.apps = apps
      return context.log.info("apps of Matrix read again", ["path": .init(path)])
    }
    // Operator: Follow `fix`. `place` is the place in the file, `faults` the number of faults.
    context.log.error(
      "the file of the apps of Matrix is invalid; the apps in use stay",
      [
        "setting": .init(MatrixPart.file.name), "path": .init(path), "place": .init(fault.place),
        "seen": .init(fault.seen), "faults": .init(faults.count),
        "fix": .init("expected \(fault.expected); then send SIGHUP again"),
      ])
  }

  func needsBody(_ request: SidecarRequest) -> Bool { request.method == "POST" && context.storage != nil }

  func respond(to request: SidecarRequest) async throws(Refusal) -> HTTPResponse {
    guard request.method == "POST" else { throw .methodNotAllowed("POST") }
    let storage = try context.requireStorage()
    let notification = try MatrixNotification(try MatrixBody.object(request.http.body))
    let client = storage.access.client(of: request.http)
    var (targets, rejected): ([Target], [String]) = ([], [])
    for device in notification.devices {
      if let target = target(device) { targets.append(target) } else { rejected.append(device.pushkey) }
    }
    let devices = targets.map { (token: $0.token, app: $0.app.bundleID) }
    let gone = try await refusingFaults(await storage.backend.registry.goneSince(devices, for: client))
    var (jobs, tokens): ([[UInt8]], Set<DeviceToken>) = ([], [])
    for (target, goneSince) in zip(targets, gone) {
      let (device, token, app) = target
      if goneSince ?? 0 > device.setAt {
        rejected.append(device.pushkey)
      } else if !tokens.contains(token), let push = MatrixPush(notification, to: device) {
        let pusher = Pusher(
          environment: app.environment, setAt: min(device.setAt, Clock.unixMilliseconds), address: client)
        jobs.append(push.job(notification, to: device, token, of: app.bundleID, pusher))
        tokens.insert(token)
      }
    }
    try await storage.access.admit(
      [(.notification, "address:" + client, max(1, jobs.count))]
        + tokens.map { (.notificationOfDevice, "token:" + $0.text, 1) })
    if !jobs.isEmpty {
      let command = jobs.reduce(RedisCommand("LPUSH", context.configuration.queue)) { $0.with($1) }
      _ = try await refusingFaults(await storage.backend.connection.send(command))
    }
    return .json(["rejected": rejected])
  }

  /// Returns nil for a pusher that can never work.
  private func target(_ device: MatrixDevice) -> Target? {
    let app = apps.app(of: device.appID)
    if app == nil, !device.appID.isEmpty {
      unknownApps.warn(device.appID.prefix(bytes: MatrixApps.idLength.upperBound))
    }
    guard let app, let token = device.token, device.defaultPayload != nil else { return nil }
    return (device, token, app)
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
