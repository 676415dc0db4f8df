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
package enum CounterField {
  package static let jobs = "jobs:"
  package static let pushes = "pushes:"
  package static let refused = "refused:"
  package static let claimed = "claimed:"
  package static let appAccepted = "app:accepted:"
  package static let appFailed = "app:failed:"
  package static let latency = "latency:"
  /// Bytes of records of accepted jobs.
  package static let recordBytes = "records:bytes"
  package static let latencySum = "latency:sum"

  package static let statuses = JobStatus.allCases.map { jobs + $0.rawValue }
  package static let outcomes = CountedPush.allCases.map { pushes + $0.rawValue }
  package static let latencies = LatencyCounts.bounds.map { "\(latency)\($0)" } + [latency + "more"]

  /// Returns `name` if it may be a part of a field's name: printable ASCII without spaces, and not too long. Else `other`.
  package static func name(_ name: String) -> String {
    let isPlain = name.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    guard isPlain, !name.isEmpty, name.utf8.count <= CounterLimits.maximumNameBytes else {
      return CounterLimits.otherName
    }
    return name
  }
}
