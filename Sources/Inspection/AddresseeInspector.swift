public import EventLoop
public import Policy
public import Redis

/// Explains why a user, a token or an instance gets pushes or gets none.
@EventLoop
public struct AddresseeInspector {
  private let connection: RedisClient
  private let queues: [String]
  private let policies: PolicyBook?
  private let showsWholeTokens: Bool
  private let localTime: LocalTime

  /// `queues` are those of the fleet. Without `policies`, limits of an instance are not explained.
  public init(
    connection: RedisClient, queues: [String], policies: PolicyBook? = nil, showsWholeTokens: Bool = false,
    localTime: LocalTime = .system
  ) {
    self.connection = connection
    self.queues = queues
    self.policies = policies
    self.showsWholeTokens = showsWholeTokens
    self.localTime = localTime
  }

  public func explain(_ addressee: InspectedAddressee) async throws(RedisError) -> AddresseeExplanation {
    AddresseeExplanation(subject: "", isKnown: false, isReachable: false, outcome: "")
  }
}
