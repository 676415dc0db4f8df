import JSON
import Jobs

/// The answer of `/api/push/test`.
struct PushReport {
  private let report: DirectReport
  private let cleanup: StoredCleanup
  private let concurrency: Int

  /// `concurrency`: sends at once.
  init(_ report: DirectReport, _ cleanup: StoredCleanup, concurrency: Int) {
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

  /// How often each came, in the order of their names.
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
