import Telemetry
import TestSupport

/// The lines of a log.
final class Lines: Sendable {
  private let lines = Locked<[String]>([])

  var log: Log {
    Log(level: .debug, isText: false) { line in self.lines.withLock { $0.append(line) } }
  }

  func count(containing text: String) -> Int { all(containing: text).count }

  func all(containing text: String) -> [String] { lines.withLock { $0.filter { $0.contains(text) } } }
}
