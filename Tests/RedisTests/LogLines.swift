import Telemetry
import TestSupport

/// A log that a test can read.
final class LogLines: Sendable {
  private let kept = Locked<[String]>([])

  var lines: [String] { kept.withLock { $0 } }

  var log: Log {
    Log(level: .info, isText: false) { line in self.kept.withLock { $0.append(line) } }
  }
}
