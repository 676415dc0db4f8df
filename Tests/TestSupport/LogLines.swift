public import Telemetry

/// A log that a test can read.
public final class LogLines: Sendable {
  private let kept = Locked<[String]>([])

  public init() {}

  public var lines: [String] { kept.withLock { $0 } }

  public var log: Log { log(level: .debug) }

  public func log(level: LogLevel, isText: Bool = false) -> Log {
    Log(level: level, isText: isText) { line in self.kept.withLock { $0.append(line) } }
  }

  public func count(containing text: String) -> Int { all(containing: text).count }

  public func all(containing text: String) -> [String] { lines.filter { $0.contains(text) } }
}
