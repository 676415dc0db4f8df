extension Job {
  /// What is said of a job with ``hasNullInPayload``.
  public static let nullHint = "The payload has a null; iOS may not show such a push. Leave the field out."

  /// What to look at before the job is sent: it is valid, and probably not meant.
  public var hints: [String] {
    [hasNullInPayload ? Job.nullHint : nil, liveActivity?.hint.map { "liveActivity.\($0)" }].compactMap { $0 }
  }
}
