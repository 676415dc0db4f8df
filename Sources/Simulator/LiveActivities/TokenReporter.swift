import EventLoop
import HTTPClient
import JSON
import Telemetry

/// Reports update tokens to the sidecar, as the app of a device does, until each is taken.
@EventLoop
final class TokenReporter {
  private static let backoff = Backoff(base: .milliseconds(200), cap: .seconds(5))
  /// The failed attempt that is logged.
  private static let loggedAttempt = 5

  private unowned let gateway: Gateway
  private let log: Log
  private let client = HTTPClient(label: "simulator.reports")
  /// By token.
  private var timers: [String: LoopTimer] = [:]

  init(gateway: Gateway, log: Log) {
    self.gateway = gateway
    self.log = log
  }

  func schedule(_ reports: [LiveDevice.Report]) {
    for report in reports { schedule(report, attempt: 1, after: .milliseconds(report.delay)) }
  }

  private func schedule(_ report: LiveDevice.Report, attempt: Int, after delay: Duration) {
    timers[report.token] = .after(delay) { [unowned self] in send(report, attempt: attempt) }
  }

  private func send(_ report: LiveDevice.Report, attempt: Int) {
    timers[report.token] = nil
    guard let owner = gateway.liveDevices.beginReport(report), let call = report.call(from: owner) else { return }
    EventLoop.start { [self, client] in
      let status = (try? await client.send(call))?.status
      if let status, (200...299).contains(status) { return gateway.liveDevices.endReport(report) }
      if attempt == TokenReporter.loggedAttempt {
        log.warn(
          "an update token is not taken", ["device": .init(report.deviceID), "status": .init(status ?? 0)])
      }
      let delay = TokenReporter.backoff.delay(attempt: attempt, random: .random(in: 0.5...1))
      schedule(report, attempt: attempt + 1, after: delay)
    }
  }
}

extension LiveDevice.Report {
  /// `PUT /activities/{activity id}`; nil if the device has no sidecar.
  func call(from owner: LiveDevice.Owner) -> HTTPCall? {
    guard let sidecar = owner.sidecar else { return nil }
    var call = HTTPCall(url: "\(sidecar)/activities/\(String(percentEncoding: activityID))")
    call.method = .put
    call.timeout = .seconds(5)
    call.headers = [
      ("Authorization", "Bearer \(owner.bearer)"), ("X-Username", owner.username), ("Content-Type", "application/json"),
    ]
    let body: JSONObject = [
      "token": token, "bundleId": owner.bundleID, "environment": owner.environment.rawValue, "deviceId": deviceID,
    ]
    call.body = body.bytes
    return call
  }
}
