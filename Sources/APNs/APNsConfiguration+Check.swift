import EventLoop

extension APNsConfiguration {
  /// The gateway of tokens registered without an environment, as a URL.
  package var defaultOrigin: String {
    get throws(APNsError) { try origin(of: defaultEnvironment).url }
  }

  /// Signs a provider token and throws it away; throws when the key cannot.
  package func checkSigning() throws(APNsError) {
    _ = try key.sign(issuedAt: Clock.unixMilliseconds / 1000)
  }

  /// Throws what ``init`` would say of this part alone, so that it is named by its own setting.
  package static func check(caCertificatePEM: String) throws(APNsError) {
    _ = try TrustedCertificates(pem: caCertificatePEM)
  }

  package static func check(endpoint: String) throws(APNsError) {
    _ = try Origin(endpoint)
  }
}
