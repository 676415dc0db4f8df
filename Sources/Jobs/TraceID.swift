/// The ids of traces and spans, in hexadecimal digits as OpenTelemetry writes them.
public enum TraceID {
  /// Never changes: with another key, the attempts of one job would have different traces.
  private static let key: (UInt64, UInt64) = (0x6D61_7274_6C65_7431, 0x7472_6163_652D_6964)

  /// The trace of a job that names none: the same for every attempt and on every machine.
  ///
  /// `share` places the id among all ids, from 0 to 1. A job has the same share in each attempt, so its trace is recorded
  /// completely or not at all.
  public static func derived(jobID: String) -> (text: String, share: Double) {
    var hash = SipHash128(key: key)
    hash.append(jobID)
    let (high, low) = hash.finish()
    return (hex(high) + hex(max(low, 1)), Double(low >> 11) / Double(1 << 53))
  }

  /// A new id of a span.
  public static func randomSpan() -> String { hex(UInt64.random(in: 1...UInt64.max)) }

  private static func hex(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
