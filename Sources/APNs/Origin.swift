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

  /// The environment whose tokens Apple's gateway of this name knows, at any port; nil for any other gateway.
  var tokensOfApple: EnvironmentSet? {
    switch address.host {
    case "api.push.apple.com": .production
    case "api.sandbox.push.apple.com", "api.development.push.apple.com": .sandbox
    default: nil
    }
  }
}

/// The origins that take broadcasts to channels in place of the gateways.
struct BroadcastOrigins: Sendable {
  /// Apple's pages name the gateways in one place and these hosts in another.
  static let appleHost = "api-broadcast.push.apple.com"
  static let appleSandboxHost = "api-broadcast.sandbox.push.apple.com"

  let production: Origin
  let sandbox: Origin

  /// Apple's host of either environment stands for both hosts; any other origin is that of both environments.
  init(_ text: String) throws(APNsError) {
    let origin = try Origin(text)
    guard [BroadcastOrigins.appleHost, BroadcastOrigins.appleSandboxHost].contains(origin.address.host) else {
      (production, sandbox) = (origin, origin)
      return
    }
    production = try Origin("https://\(BroadcastOrigins.appleHost)")
    sandbox = try Origin("https://\(BroadcastOrigins.appleSandboxHost)")
  }

  func origin(of environment: PushEnvironment) -> Origin { environment == .production ? production : sandbox }
}

extension PushEnvironment {
  /// The URL of Apple's server that manages channels.
  var channelsURL: String {
    switch self {
    case .production: "https://api-manage-broadcast.push.apple.com:2196"
    case .sandbox: "https://api-manage-broadcast.sandbox.push.apple.com:2195"
    }
  }

  /// The URL of Apple's gateway.
  var origin: String {
    switch self {
    case .production: "https://api.push.apple.com"
    case .sandbox: "https://api.sandbox.push.apple.com"
    }
  }
}
