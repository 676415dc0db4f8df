import JSON
import Synchronization
import Telemetry

/// Keeps the first error that a component logs: a client that reconnects by itself tells nobody else why it could not.
final class LoggedReason: Sendable {
  private let first = Mutex<String?>(nil)

  var text: String? { first.withLock { $0 } }

  var log: Log {
    Log(level: .warn, isText: false) { line in
      let entry: JSONValue
      do { entry = try JSONValue(parsing: Array(line.utf8)) } catch { return }
      guard let reason = entry["error"]?.string else { return }
      self.first.withLock { $0 = $0 ?? reason }
    }
  }
}
