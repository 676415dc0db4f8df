import JSON
import Jobs
import PushModel

extension DirectReport {
  /// The answer of `/api/push/test`. `concurrency` is the number of pushes in flight at once.
  func object(_ cleanup: SetCleanup, concurrency: Int) -> JSONObject {
    let failures = results.filter { !$0.ok }
    let reasons = Dictionary(grouping: failures) { DirectReport.name($0.reason ?? "HTTP_\($0.status)") }
      .mapValues(\.count)
    return [
      "successCount": results.count - failures.count, "failureCount": failures.count,
      "failureReasons": JSONObject(reasons), "apnsSendConcurrency": concurrency,
      "pushMetadataLookupConcurrency": cleanup.lookupConcurrency,
    ] + cleanup.storageMembers + [
      "staleTokensRemoved": staleRemoved, "staleOwnershipTokensRemoved": cleanup.foreign,
      "results": results.map(DirectReport.entry),
    ]
  }

  /// The reason without what differs from push to push, such as addresses and times, which the results have.
  private static func name(_ reason: String) -> String {
    let word = reason.prefix { $0 != " " }
    return String(word.hasSuffix(":") ? word.dropLast() : word)
  }

  private static func entry(_ result: DeviceResult) -> JSONObject {
    [
      "ok": result.ok, "status": result.status, "token": result.token.text,
      "apnsId": result.apnsID.isEmpty ? nil : result.apnsID, "reason": result.reason,
    ]
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

  var storageMembers: JSONObject {
    // A Redis set holds strings only.
    ["invalidStoredTokensRemoved": malformed, "skippedNonStringTokenCount": 0]
  }

  /// The members of an answer when nothing is left to send to.
  var diagnostics: JSONObject {
    ["staleOwnershipTokensRemoved": foreign, "pushMetadataLookupConcurrency": lookupConcurrency] + storageMembers
  }
}
