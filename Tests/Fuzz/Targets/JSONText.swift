import JSON

/// What must hold for every text that is written as JSON.
enum JSONText {
  /// Requires one complete JSON value. Duplicate keys within it are allowed: a job's `data` may have them.
  static func requireValid(_ bytes: [UInt8], _ what: String) throws(Violation) {
    var reader = JSONReader(bytes)
    do throws(JSONError) {
      try reader.skipValue()
      try reader.end()
    } catch {
      throw Violation(description: "\(what) is not JSON: \(error)")
    }
  }

  /// Requires that a value is the same after it was written and read, if `bytes` is one.
  static func requireStable(_ bytes: [UInt8]) throws(Violation) {
    guard let value = try? JSONValue(parsing: bytes) else { return }
    let again: JSONValue
    do {
      again = try JSONValue(parsing: value.bytes)
    } catch {
      throw Violation(description: "what was written of a value is not JSON: \(error)")
    }
    try require(again == value, "a value differs after it was written and read")
  }
}
