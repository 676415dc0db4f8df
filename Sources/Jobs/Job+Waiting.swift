import JSON

extension Job {
  /// When the producer enqueued the job, in unix milliseconds. Nil if it is not said, or in seconds.
  public var enqueued: Int64? { enqueuedAt.flatMap { $0 < Timestamp.firstMilliseconds ? nil : $0 } }

  /// 28 days in milliseconds. A job that seems to have waited longer has an invalid `enqueuedAt`, for example in seconds.
  @usableFromInline
  static let maximumWait: Int64 = 28 * 24 * 3600 * 1000

  /// Returns since when the job waits: since `enqueuedAt`, or `sendAt` if that is later. Nil without a valid `enqueuedAt`. All
  /// times are in unix milliseconds.
  @inlinable
  public func waitingSince(now: Int64) -> Int64? {
    guard let enqueuedAt else { return nil }
    let since = max(enqueuedAt, sendAt ?? 0)
    return now - since <= Job.maximumWait ? since : nil
  }
}
