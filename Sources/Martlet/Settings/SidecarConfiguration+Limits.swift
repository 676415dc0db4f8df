import Credentials
import Registry
import Sidecar

extension SidecarConfiguration {
  /// Reads how often anybody may call, and who tells where a call comes from.
  mutating func readLimits(_ reader: inout EnvironmentReader) {
    let minute = Duration.seconds(60)
    failureLimit = reader.limit("MARTLET_AUTH_FAILURE_LIMIT", default: WindowLimit(20, per: minute))
    registrationLimit = reader.limit("MARTLET_REGISTER_LIMIT", default: WindowLimit(120, per: minute))
    testLimit = reader.limit("MARTLET_TEST_LIMIT", default: WindowLimit(60, per: minute))
    broadcastLimit = reader.limit("MARTLET_BROADCAST_LIMIT", default: WindowLimit(600, per: minute))
    for proxy in reader.list("MARTLET_TRUSTED_PROXIES") where !trustedProxies.add(proxy) {
      reader.report("MARTLET_TRUSTED_PROXIES", wrong: proxy, expected: TrustedProxies.expected)
    }
  }
}
