import EventLoop
public import Redis

/// Adds what a part knows to the explanation of an addressee.
public protocol AddresseeExplainer: Sendable {
  /// Returns nil if the part has nothing to do with such an addressee.
  @EventLoop func facts(
    of addressee: InspectedAddressee, _ connection: RedisClient, _ text: TimeText
  ) async throws(RedisError) -> PartFacts?
}

/// What a part knows of an addressee.
public struct PartFacts: Sendable {
  public let findings: [Finding]
  /// Whether the addressee has been used, although it may have no device.
  public let isKnown: Bool
  /// The page of the dashboard with more; nil if there is none.
  public let page: PageReference?

  public init(findings: [Finding], isKnown: Bool, page: PageReference?) {
    self.findings = findings
    self.isKnown = isKnown
    self.page = page
  }
}

/// A page of the dashboard.
public struct PageReference: Sendable {
  public let title: String
  /// Without the first slash.
  public let path: StaticString
  public let query: [(String, String)]

  public init(_ title: String, _ path: StaticString, query: [(String, String)]) {
    self.title = title
    self.path = path
    self.query = query
  }
}
