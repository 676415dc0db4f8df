import Foundation
import Jobs
import Redis
package import Testing
import TestSupport
@testable import Queue

extension FleetWorker {
  /// The current name of the worker, which changes when it is fenced.
  package func name() throws -> String {
    struct Entry: Decodable { let worker: String }
    guard let line = process.lines.last(where: { $0.contains("worker starts") }) else {
      throw TestTimeout("the worker has not said its name")
    }
    return try JSONDecoder().decode(Entry.self, from: Data(line.utf8)).worker
  }

  /// The number of log lines with `message`.
  package func count(of message: String) -> Int { process.lines.count { $0.contains(message) } }

  /// Waits for a log line with `message`, and returns all of them. A line may come after the answer of Redis that it speaks of.
  package func lines(with message: String) async throws -> [String] {
    try await eventually("it logs: \(message)") { count(of: message) > 0 }
    return process.lines.filter { $0.contains(message) }
  }

  /// The logged warnings and errors, for failed tests.
  package var complaints: [String] { process.lines.filter { $0.contains("\"warn\"") || $0.contains("\"error\"") } }

  /// Expects one line for the beginning of each outage of Redis and one for its end, which may be to come. A slow machine may
  /// add an outage.
  package func expectOneLineForEachOutage(sourceLocation: SourceLocation = #_sourceLocation) {
    // A reason that changes is told again.
    let reasons = process.lines.filter { $0.contains("redis is not reachable") }.compactMap { line in
      line.firstMatch(of: /"reason":"([^"]*)"/).map { String($0.1) }
    }
    let ended = count(of: "outageMilliseconds")
    #expect(!reasons.isEmpty, sourceLocation: sourceLocation)
    for (reason, lines) in Dictionary(grouping: reasons, by: \.self) {
      #expect(lines.count <= ended + 1, "\(reason)", sourceLocation: sourceLocation)
    }
  }

  /// The elements of its in-flight list.
  package func inflight(in fleet: Fleet) async throws -> Int {
    let key = QueueKeys(queue: queue).inflight(try name())
    return Int(try await fleet.redis("LLEN", key).integer ?? 0)
  }

  /// Sends SIGHUP, and waits for a log line with these words.
  package func reload(until words: String...) async throws {
    let before = process.lines.count
    process.signal(SIGHUP)
    try await eventually("read again: \(words)") {
      process.lines.dropFirst(before).contains { line in words.allSatisfy(line.contains) }
    }
  }
}
