/// Bounds how many entries of an operator are written that change nothing: nobody without rights may fill the log. Pure.
struct AuditLimit: Sendable {
  /// Entries of an operator in one window. The others are only counted.
  static let entries = 20
  /// Operators that are counted apart. The others share one count.
  private static let maximumOperators = 1000

  private struct Count {
    var written = 0
    var omitted = 0
  }

  private var counts: [String: Count] = [:]

  /// Returns whether another entry of this operator may be written in this window.
  mutating func admits(_ name: String) -> Bool {
    let key = counts[name] != nil || counts.count < AuditLimit.maximumOperators ? name : ""
    var count = counts[key] ?? Count()
    let isAdmitted = count.written < AuditLimit.entries
    if isAdmitted { count.written += 1 } else { count.omitted += 1 }
    counts[key] = count
    return isAdmitted
  }

  /// Ends the window. Returns the operators of whom entries were not written, and their number.
  mutating func end() -> [(operator: String, omitted: Int)] {
    defer { counts = [:] }
    return counts.filter { $0.value.omitted > 0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value.omitted) }
  }
}
