public import EventLoop
public import PushModel

/// Where the pushes of a bundle id go.
@EventLoop
public struct AppTarget {
  /// The environment of the app's devices whose environment is unknown; nil for the default of the process.
  public let environment: PushEnvironment?
  /// Nil if no key may send there.
  private let production: APNsClient?
  private let sandbox: APNsClient?

  init(production: APNsClient?, sandbox: APNsClient?, environment: PushEnvironment?) {
    self.production = production
    self.sandbox = sandbox
    self.environment = environment
  }

  /// The client that sends to an environment; nil if no key may.
  public func client(for environment: PushEnvironment) -> APNsClient? {
    environment == .production ? production : sandbox
  }

  /// The environment that devices are tried in whose own is unknown. `fallback` is the default of the process.
  public func environment(else fallback: PushEnvironment) -> PushEnvironment {
    let wanted = environment ?? fallback
    return client(for: wanted) == nil ? wanted.other : wanted
  }

  /// The client that may ask whether a token belongs to the other environment than `environment`. Nil if no key may, or if
  /// both environments have one gateway, which would answer the same.
  public func otherClient(than environment: PushEnvironment) -> APNsClient? {
    guard let other = client(for: environment.other), !other.configuration.hasOneGateway else { return nil }
    return other
  }
}
