import Foundation
import Jobs
import Redis
import TestSupport
@testable import Queue

extension FleetWorker {
  /// The name of its present life: a fenced worker has another.
  func name() throws -> String {
    struct Entry: Decodable { let worker: String }
    guard let line = process.lines.last(where: { $0.contains("worker starts") }) else {
      throw TestTimeout("the worker has not said its name")
    }
    return try JSONDecoder().decode(Entry.self, from: Data(line.utf8)).worker
  }

  /// How often it logged `message`.
  func count(of message: String) -> Int { process.lines.count { $0.contains(message) } }

  /// Its warnings and errors, for a test that failed.
  var complaints: [String] { process.lines.filter { $0.contains("\"warn\"") || $0.contains("\"error\"") } }

  /// What stands in its in-flight list.
  func inflight(in fleet: Fleet) async throws -> Int {
    let key = QueueKeys(queue: queue).inflight(try name())
    return Int(try await fleet.redis("LLEN", key).integer ?? 0)
  }
}
