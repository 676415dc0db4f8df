public import PushModel

/// What it would prove that APNs does not know the token of a push.
public struct TokenQuestion: Sendable, Equatable {
  /// Of which environments the token is not then: those of an earlier question included.
  public let asked: EnvironmentSet
  /// Whether no other environment is asked then.
  public let isLast: Bool
  /// The ``AppClients/generation`` of the clients that ask. The answer proves nothing in another one.
  public let generation: Int

  public init(asked: EnvironmentSet, isLast: Bool, generation: Int = 0) {
    self.asked = asked
    self.isLast = isLast
    self.generation = generation
  }

  /// Whether the token would be invalid. `possible`: the environments that it may be of.
  public func isProof(for possible: EnvironmentSet) -> Bool { isLast && asked.isSuperset(of: possible) }

  /// The last question about the same token: `other` asks the other environment.
  public func followed(by other: TokenQuestion) -> TokenQuestion {
    TokenQuestion(asked: asked.union(other.asked), isLast: true, generation: generation)
  }
}
