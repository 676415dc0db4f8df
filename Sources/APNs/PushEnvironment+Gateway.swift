import PushModel

extension PushEnvironment {
  /// The gateway's origin.
  var origin: String {
    switch self {
    case .production: "https://api.push.apple.com"
    case .sandbox: "https://api.sandbox.push.apple.com"
    }
  }
}
