import APNs
import EventLoop
import JSON
import Operations
import Program
import Synchronization
import Telemetry

/// Checks the provider key and the connection to APNs. Sends nothing.
@EventLoop
struct GatewayExamination {
  private static let patience = Duration.seconds(10)
  private static let interval = Duration.milliseconds(20)
  private static let fixOfUnknownReason =
    "check the network, proxy and firewall (port 443), APNS_ENDPOINT_OVERRIDE and APNS_CA_CERT, endpoint and caCert of the app"

  /// Nil in polling-only mode.
  let configuration: APNsConfiguration?

  func findings() async -> [Finding] {
    guard let configuration else {
      return [
        Finding(
          "apns", .fact, "not configured: polling-only mode, nothing is pushed",
          fix: "set APNS_KEY_ID, APNS_TEAM_ID, APNS_BUNDLE_ID and APNS_PRIVATE_KEY, or MARTLET_APPS, to push")
      ]
    }
    let reached = await GatewayExamination.reach(configuration)
    let isApples = configuration.defaultOrigin.hasSuffix(".push.apple.com")
    guard reached.severity == .ok, isApples else { return [signing(configuration), reached] }
    return [
      signing(configuration), reached,
      Finding(
        "apple's gateway", .fact, "not asked what it does",
        fix: "run martlet gateway once: it asks what others have recorded, and no phone shows anything"),
    ]
  }

  private func signing(_ configuration: APNsConfiguration) -> Finding {
    do {
      try configuration.checkSigning()
      return Finding("provider key", .ok, "the key signs")
    } catch {
      return Finding("provider key", .problem, "\(error)", fix: "set the .p8 key of the developer account")
    }
  }

  /// Connects to the gateway of the default environment.
  static func reach(_ configuration: APNsConfiguration, _ check: String = "apns") async -> Finding {
    let origin = configuration.defaultOrigin
    let reason = LoggedReason()
    let client = APNsClient(configuration: configuration, metrics: Metrics(), log: reason.log)
    defer { client.close() }
    client.start()
    let deadline = ContinuousClock.now + GatewayExamination.patience
    while !client.isServing, reason.text == nil, ContinuousClock.now < deadline {
      try? await Task.sleep(for: GatewayExamination.interval)
    }
    let proxy = ProxyChoice(for: origin, in: ProcessEnvironment.processValues)
    let way = proxy.map { " through the proxy \($0.address) (\($0.variable))" } ?? ""
    if client.isServing { return Finding(check, .ok, "\(origin) accepts connections\(way)") }
    let text = reason.text ?? "no answer"
    return Finding(
      check, .problem, "\(origin) cannot be reached\(way): \(text)",
      fix: ConnectionFix.text(for: text) ?? GatewayExamination.fixOfUnknownReason)
  }
}

/// Keeps the first error that a component logs. A client that reconnects automatically reports errors nowhere else.
final class LoggedReason: Sendable {
  private let first = Mutex<String?>(nil)

  var text: String? { first.withLock { $0 } }

  var log: Log {
    Log(level: .warn, isText: false) { line in
      let entry: JSONValue
      do { entry = try JSONValue(parsing: Array(line.utf8)) } catch { return }
      guard let reason = entry["error"]?.string else { return }
      self.first.withLock { $0 = $0 ?? reason }
    }
  }
}
