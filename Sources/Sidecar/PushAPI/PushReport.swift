import JSON
import Jobs

/// The answer of `/api/push/test`.
struct PushReport {
  private let report: DirectReport
  private let cleanup: SetCleanup
  private let concurrency: Int

  /// - Parameter concurrency: the pushes in flight at once.
  init(_ report: DirectReport, _ cleanup: SetCleanup, concurrency: Int) {
    self.report = report
    self.cleanup = cleanup
    self.concurrency = concurrency
  }

  var members: [JSONMember] {
    let failures = report.results.filter { !$0.ok }
    return [
      .count("successCount", report.results.count - failures.count), .count("failureCount", failures.count),
      JSONMember(key: "failureReasons", value: .object(reasons(failures))),
      .count("apnsSendConcurrency", concurrency), .count("pushMetadataLookupConcurrency", cleanup.lookupConcurrency),
    ] + cleanup.storageMembers + [
      .count("staleTokensRemoved", report.staleRemoved), .count("staleOwnershipTokensRemoved", cleanup.foreign),
      JSONMember(key: "results", value: .array(report.results.map(result))),
    ]
  }

  /// Returns how often each reason came, in alphabetical order.
  private func reasons(_ failures: [DeviceResult]) -> [JSONMember] {
    let counts = Dictionary(grouping: failures) { $0.reason ?? "HTTP_\($0.status)" }.mapValues(\.count)
    return counts.sorted { $0.key < $1.key }.map { .count($0.key, $0.value) }
  }

  private func result(_ result: DeviceResult) -> JSONValue {
    var members = [
      JSONMember(key: "ok", value: .bool(result.ok)), .count("status", result.status),
      JSONMember(key: "token", value: .string(result.token)),
    ]
    if !result.apnsID.isEmpty { members.append(JSONMember(key: "apnsId", value: .string(result.apnsID))) }
    if let reason = result.reason { members.append(JSONMember(key: "reason", value: .string(reason))) }
    return .object(members)
  }
}

/// The entries that were removed from a user's set before a send.
struct SetCleanup: Equatable {
  /// Entries that are not tokens.
  var malformed = 0
  /// Entries whose metadata is missing or names another user.
  var foreign = 0
  /// 0 if no metadata was read.
  var lookupConcurrency = 0

  var storageMembers: [JSONMember] {
    // A Redis set holds strings only.
    [.count("invalidStoredTokensRemoved", malformed), .count("skippedNonStringTokenCount", 0)]
  }

  /// The members of an answer when nothing is left to send to.
  var diagnostics: [JSONMember] {
    [.count("staleOwnershipTokensRemoved", foreign), .count("pushMetadataLookupConcurrency", lookupConcurrency)]
      + storageMembers
  }
}

extension JSONMember {
  static func count(_ key: String, _ count: Int) -> JSONMember {
    JSONMember(key: key, value: .integer(Int64(count)))
  }
}
