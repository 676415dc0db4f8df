import Crypto
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
  private let generation: Int

  init(production: APNsClient?, sandbox: APNsClient?, environment: PushEnvironment?, generation: Int) {
    self.production = production
    self.sandbox = sandbox
    self.environment = environment
    self.generation = generation
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

  /// What a push in `environment` asks about its token.
  public func question(in environment: PushEnvironment, else fallback: PushEnvironment) -> TokenQuestion {
    TokenQuestion(
      asked: asked(in: environment, else: fallback), isLast: otherClient(than: environment) == nil,
      generation: generation)
  }

  /// The environments that a gateway knows the tokens of, when a push in `environment` has asked it. A gateway that was named for
  /// both environments by one setting is that of one of them: the environment that devices are tried in whose own is unknown.
  func asked(in environment: PushEnvironment, else fallback: PushEnvironment) -> EnvironmentSet {
    guard let known = client(for: environment)?.configuration.knownTokens else { return [] }
    guard let tokens = environment == .production ? known.production : known.sandbox else {
      return EnvironmentSet(self.environment(else: fallback))
    }
    return tokens == .both && client(for: environment.other) == nil ? EnvironmentSet(environment) : tokens
  }

  /// A digest of the keys and gateways with which the app's tokens can be asked about: the same in every process.
  public func reach(else fallback: PushEnvironment) -> Int64 {
    let parts = PushEnvironment.allCases.map { environment in
      guard let configuration = client(for: environment)?.configuration else { return "" }
      let keys = configuration.keyNames.map { "\($0.teamID)/\($0.keyID)" }.sorted()
      let asked = asked(in: environment, else: fallback).rawValue
      return ([configuration.origin(of: environment).url, "\(asked)"] + keys).joined(separator: " ")
    }
    // JSON numbers are exact up to 53 bits.
    return Int64(SHA256.hex(parts.joined(separator: "\n")).prefix(12), radix: 16) ?? 0
  }
}
