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
}
