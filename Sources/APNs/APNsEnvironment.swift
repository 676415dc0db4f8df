/// One of Apple's two gateways; a device token belongs to exactly one of them.
public enum APNsEnvironment: String, Sendable, CaseIterable {
  case production, sandbox

  /// `https://` host of the gateway.
  var origin: String {
    switch self {
    case .production: "https://api.push.apple.com"
    case .sandbox: "https://api.sandbox.push.apple.com"
    }
  }
}
