public import Crypto

/// Where an ``HTTPApplication`` listens, and what its clients may take.
public struct HTTPListener: Sendable {
  /// `host:port` or `unix:/path`.
  public var address: String
  /// With one the application speaks HTTPS only, without one HTTP only.
  public var certificate: ServerCertificate?
  /// The proxies whose `X-Forwarded-…` fields are trusted.
  public var trustedProxies = TrustedProxies()
  /// What connections and requests may take. Bytes; nil for the default.
  package var budget: Int?
  /// Whether requests may have a body.
  package var allowsBodies = true
  /// The line in the log when it listens.
  package var announcement: StaticString = "listens"

  public init(address: String) {
    self.address = address
  }

  var configuration: HTTPServerConfiguration {
    get throws(HTTPServerError) {
      var configuration = HTTPServerConfiguration(address: try HTTPAddress(parsing: address))
      configuration.certificate = certificate
      configuration.trustedProxies = trustedProxies
      if let budget { configuration.budget.bytes = budget }
      if !allowsBodies { configuration.maximumBodyBytes = 0 }
      return configuration
    }
  }
}
