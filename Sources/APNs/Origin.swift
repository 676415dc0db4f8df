import HTTPClient
import PushModel

/// Scheme, host and port of a gateway.
struct Origin: Sendable, Equatable {
  let address: WebAddress

  init(_ text: String) throws(APNsError) {
    // Errors do not quote the text, because it may contain a password.
    func refuse(_ why: String) -> APNsError {
      .configuration("the APNs endpoint \(why); expected https://host or https://host:port")
    }
    guard let address = WebAddress(text) else { throw refuse("is not a URL") }
    guard address.scheme == "https" else { throw refuse("does not use https") }
    guard !address.hasUser else { throw refuse("contains a user name or a password") }
    guard !address.host.isEmpty else { throw refuse("has no host") }
    self.address = address
  }

  /// `https://host:port`, without a path.
  var url: String { address.origin }
  /// `host`, or `host:port` if the port is not 443.
  var authority: String { address.authority }
}

extension PushEnvironment {
  /// The URL of Apple's gateway.
  var origin: String {
    switch self {
    case .production: "https://api.push.apple.com"
    case .sandbox: "https://api.sandbox.push.apple.com"
    }
  }
}
