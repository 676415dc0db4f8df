/// How much is written to the log, from least to most.
public enum LogLevel: Int, Sendable, Comparable, CaseIterable {
  case error, warn, info, debug

  /// From `error`, `warn`, `info` or `debug`.
  public init?(_ name: String) {
    guard let level = LogLevel.allCases.first(where: { "\($0)" == name }) else { return nil }
    self = level
  }

  public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}
