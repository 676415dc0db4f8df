import JSON

extension RateLimit {
  /// What one state remembers at most.
  static let maximumCount: Int64 = 200
  /// 31 days.
  static let maximumSeconds: Int64 = 2_678_400

  init?(_ value: JSONValue, _ path: String, _ reader: inout PolicyReader) {
    guard let object = reader.object(value, path, keys: ["count", "seconds"]) else { return nil }
    reader.require(object, "count", "seconds")
    let count = reader.integer(object, "count", in: 1...RateLimit.maximumCount)
    let seconds = reader.integer(object, "seconds", in: 1...RateLimit.maximumSeconds)
    guard let count, let seconds else { return nil }
    self.init(count: Int(count), seconds: seconds)
  }
}
