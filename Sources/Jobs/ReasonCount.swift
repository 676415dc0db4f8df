/// How many pushes of a job were refused for one reason.
public struct ReasonCount: Sendable, Equatable {
  public let reason: String
  public internal(set) var count: Int
}
