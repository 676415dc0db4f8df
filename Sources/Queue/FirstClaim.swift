import JSON

/// When a job was claimed first. Its nonce, which stays the same at every attempt, says it:
/// `<base of the worker>.<number of the claim>-<unix ms, base 36>`, for a job of a claim of several `.<number of the job>` behind it.
public struct FirstClaim: Sendable, Equatable {
  /// Unix milliseconds, by the clock of the worker.
  public let at: Int64
  /// Orders the jobs of one millisecond as they were claimed.
  public let sequence: String

  /// Returns nil for a nonce of an earlier version, which has no time.
  public init?(nonce: String) {
    let parts = nonce.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count >= 2 else { return nil }
    let claim = parts[1].split(separator: "-", omittingEmptySubsequences: false)
    guard claim.count == 2, let number: Int64 = claim[0].integer(in: 0...Int64.max),
      let at = Int64(claim[1], radix: 36), NumberRange.times.contains(at)
    else { return nil }
    let job: Int64 = parts.count > 2 ? parts[2].integer(in: 0...Int64.max) ?? 0 : 0
    self.at = at
    sequence = FirstClaim.padded(at) + FirstClaim.padded(number) + FirstClaim.padded(job) + parts[0]
  }

  static func nonce(_ base: String, _ number: UInt64, at: Int64) -> String {
    "\(base).\(number)-\(String(at, radix: 36))"
  }

  /// Texts of numbers of one length are in the order of the numbers.
  private static func padded(_ number: Int64) -> String {
    let text = String(number, radix: 36)
    return String(repeating: "0", count: max(0, 13 - text.utf8.count)) + text
  }
}
