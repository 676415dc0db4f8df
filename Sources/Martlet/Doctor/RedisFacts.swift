/// What redis told about itself. Nil: it does not tell.
package struct RedisFacts: Sendable, Equatable {
  /// `7.0.15`
  var version: String?
  /// `master` or `slave`
  var role: String?
  /// `noeviction`
  var memoryPolicy: String?
  /// Bytes; 0 for no limit.
  var maximumMemory: Int64?
  var isAppendOnly: Bool?
  /// How far its clock is ahead of ours, in milliseconds.
  var clockDifference: Int64?

  /// Reads the reply to INFO.
  init(info: String) {
    var values: [String: String] = [:]
    for line in info.split(whereSeparator: \.isNewline) {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
    }
    version = values["redis_version"]
    role = values["role"]
    memoryPolicy = values["maxmemory_policy"]
    maximumMemory = values["maxmemory"].flatMap { Int64($0) }
    isAppendOnly = values["aof_enabled"].map { $0 == "1" }
  }
}
