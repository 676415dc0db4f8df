import Jobs

/// How a push ended, as it is counted.
public enum CountedPush: String, Sendable, CaseIterable {
  case accepted
  /// Refused for good, and its token stays.
  case failed
  /// Refused for good, because the token is stale.
  case stale
  /// Written without an answer.
  case uncertain
  /// To be tried again.
  case open
}

/// The names of the fields of a hash of counters.
enum CounterField {
  static let jobs = "jobs:"
  static let pushes = "pushes:"
  static let refused = "refused:"
  static let claimed = "claimed:"
  static let appAccepted = "app:accepted:"
  static let appFailed = "app:failed:"
  static let latency = "latency:"
  static let latencySum = "latency:sum"

  static let statuses = JobStatus.allCases.map { jobs + $0.rawValue }
  static let outcomes = CountedPush.allCases.map { pushes + $0.rawValue }
  static let latencies = LatencyCounts.bounds.map { "\(latency)\($0)" } + [latency + "more"]

  /// Returns `name` if it may be a part of a field's name: printable ASCII without spaces, and not too long. Else `other`.
  static func name(_ name: String) -> String {
    let isPlain = name.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    guard isPlain, !name.isEmpty, name.utf8.count <= CounterLimits.maximumNameBytes else {
      return CounterLimits.otherName
    }
    return name
  }
}
