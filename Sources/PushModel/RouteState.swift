/// A route that APNs accepts pushes of, with the state of its removal guard.
public struct RouteState: Sendable, Equatable {
  /// Maximum length of a list of states.
  public static let maximumListed = 20

  public let environment: PushEnvironment
  public let topic: String
  /// Owners whose latest answer the guard remembers.
  public let owners: Int
  /// Those of them whose token was refused.
  public let suspects: Int

  public init(environment: PushEnvironment, topic: String, owners: Int, suspects: Int) {
    self.environment = environment
    self.topic = topic
    self.owners = owners
    self.suspects = suspects
  }
}
