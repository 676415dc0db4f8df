/// Ids of jobs whose producer gave none.
public enum JobID {
  /// The same for the same queue entry, on every attempt: from the nonce of its envelope.
  public static func derived(nonce: String) -> String { apnsID(jobID: "", token: nonce) }

  /// A new one.
  public static func random() -> String {
    apnsID(jobID: String(UInt64.random(in: 0...UInt64.max)), token: String(UInt64.random(in: 0...UInt64.max)))
  }
}
