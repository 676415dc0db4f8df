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

  /// Whether a gateway can be reached there: an https URL without a user.
  package static func isOrigin(_ text: String) -> Bool {
    do throws(APNsError) {
      _ = try Origin(text)
      return true
    } catch {
      return false
    }
  }

  /// Whether it can be a key id or a team id.
  package static func isIdentifier(_ text: String) -> Bool { ProviderKey.isIdentifier(text) }

  /// Throws what ``init`` would say of this part alone, so that it is named by its own setting.
  package static func check(caCertificatePEM: String) throws(APNsError) {
    _ = try TrustedCertificates(pem: caCertificatePEM)
  }
}
