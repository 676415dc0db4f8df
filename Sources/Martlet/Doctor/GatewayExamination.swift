import APNs
import EventLoop
import Telemetry

/// Signs with the provider key and opens a connection to APNs. Nothing is sent.
@EventLoop
struct GatewayExamination {
  private static let patience = Duration.seconds(10)
  private static let interval = Duration.milliseconds(20)

  /// Nil: polling-only mode.
  let configuration: APNsConfiguration?

  nonisolated init(configuration: APNsConfiguration?) {
    self.configuration = configuration
  }

  func findings() async throws -> [Finding] {
    guard let configuration else {
      return [
        Finding(
          "apns", .note, "not configured: polling-only mode, nothing is pushed",
          fix: "set APNS_KEY_ID, APNS_TEAM_ID, APNS_BUNDLE_ID and APNS_PRIVATE_KEY to push")
      ]
    }
    return [signing(configuration), try await reach(configuration)]
  }

  private func signing(_ configuration: APNsConfiguration) -> Finding {
    do {
      try configuration.checkSigning()
      return Finding("provider key", .ok, "signs")
    } catch {
      return Finding("provider key", .fail, "\(error)", fix: "set the .p8 key of the developer account")
    }
  }

  private func reach(_ configuration: APNsConfiguration) async throws -> Finding {
    let origin: String
    do {
      origin = try configuration.defaultOrigin
    } catch {
      return Finding("apns", .fail, "\(error)", fix: GatewayExamination.fix(for: ""))
    }
    let reason = LoggedReason()
    let client = APNsClient(configuration: configuration, metrics: Metrics(), log: reason.log)
    defer { client.close() }
    client.start()
    let deadline = ContinuousClock.now + GatewayExamination.patience
    while !client.isServing, reason.text == nil, ContinuousClock.now < deadline {
      try await Task.sleep(for: GatewayExamination.interval)
    }
    if client.isServing { return Finding("apns", .ok, "\(origin) takes connections") }
    let text = reason.text ?? "no answer"
    return Finding(
      "apns", .fail, "\(origin) cannot be reached: \(text)", fix: GatewayExamination.fix(for: text))
  }

  /// What to do when a connection could not be opened because of `reason`.
  static func fix(for reason: String) -> String {
    if reason.contains("HTTP/2") {
      return "let the gateway, or the proxy that ends TLS in front of it, offer HTTP/2 (ALPN h2)"
    }
    if reason.contains("mismatch") {
      return "let the certificate name the host as subjectAltName; its common name does not count"
    }
    if reason.contains("certificate") {
      return
        "set APNS_CA_CERT to the authority that signed the gateway's certificate; see that the certificate is valid"
    }
    return "check the network, proxy and firewall (port 443), APNS_ENDPOINT_OVERRIDE and APNS_CA_CERT"
  }
}
