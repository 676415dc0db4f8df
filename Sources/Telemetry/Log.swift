import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// How much is written to the log, from least to most.
public enum LogLevel: Int, Sendable, Comparable, CaseIterable {
  case error, warn, info, debug

  /// Returns nil unless `name` is `error`, `warn`, `info` or `debug`.
  public init?(_ name: String) {
    guard let level = LogLevel.allCases.first(where: { "\($0)" == name }) else { return nil }
    self = level
  }

  public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}

/// One line per event on stderr: JSON, or text when stderr is a terminal.
///
/// Messages are constant; what varies goes into the fields. Never pass a secret. Pass device tokens through
/// ``shortened(_:)``.
public struct Log: Sendable {
  public enum Field: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    case string(String)
    case integer(Int64)
    case boolean(Bool)
    /// The line has no such field.
    case absent

    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    public init(_ value: String) { self = .string(value) }
    public init(_ value: String?) { self = value.map(Field.string) ?? .absent }
    public init(_ value: some BinaryInteger) { self = .integer(Int64(clamping: value)) }
  }

  public let level: LogLevel
  private let isText: Bool
  private let write: @Sendable (String) -> Void

  /// How long the end of a process waits until its last lines are written.
  private static let flushTime = Duration.seconds(2)

  /// Writes to stderr, on a thread of its own. Call ``flush()`` before the process ends.
  public init(level: LogLevel) { self.init(level: level, writer: .standardError) }

  init(level: LogLevel, writer: LogWriter) {
    let isText = isatty(writer.descriptor) == 1
    self.init(level: level, isText: isText) { line in
      writer.write(line) { Log.dropped($0).line(isText: isText) }
    }
  }

  /// What tells that nobody has read stderr for a time.
  private static func dropped(_ lines: Int) -> LogEntry {
    // Operator: Find why the collector of the log did not read. `lines` is their number; the processes have worked
    // on.
    LogEntry(
      unixMilliseconds: Clock.unixMilliseconds, level: .warn, message: "log lines were dropped, as nobody read stderr",
      fields: ["lines": .init(lines)])
  }

  /// Returns when all lines are written to stderr, or after ``flushTime`` if nobody reads it.
  public static func flush() { LogWriter.standardError.flush(within: flushTime) }

  /// Writes each line, with its line end, to `write`.
  public init(level: LogLevel, isText: Bool, write: @escaping @Sendable (String) -> Void) {
    self.level = level
    self.isText = isText
    self.write = write
  }

  /// A log that writes nothing.
  public static let silent = Log(level: .error, isText: true) { _ in }

  public func error(_ message: StaticString, _ fields: KeyValuePairs<String, Field> = [:]) {
    log(.error, message, fields)
  }

  public func warn(_ message: StaticString, _ fields: KeyValuePairs<String, Field> = [:]) {
    log(.warn, message, fields)
  }

  public func info(_ message: StaticString, _ fields: KeyValuePairs<String, Field> = [:]) {
    log(.info, message, fields)
  }

  public func debug(_ message: StaticString, _ fields: @autoclosure () -> KeyValuePairs<String, Field> = [:]) {
    guard level >= .debug else { return }
    log(.debug, message, fields())
  }

  /// The first 8 characters of a device token: enough to find it, too few to use it.
  public static func shortened(_ token: String) -> String {
    token.count <= 8 ? token : "\(token.prefix(8))…"
  }

  private func log(_ level: LogLevel, _ message: StaticString, _ fields: KeyValuePairs<String, Field>) {
    guard level <= self.level else { return }
    let entry = LogEntry(
      unixMilliseconds: Clock.unixMilliseconds, level: level, message: "\(message)", fields: fields)
    write(entry.line(isText: isText))
  }
}
