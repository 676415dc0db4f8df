import Foundation
package import TestSupport

/// A running `martlet dashboard`.
package final class DashboardProcess: Sendable {
  package let process: ChildProcess
  package let port: Int

  package init(environment: [String: String]) async throws {
    struct Entry: Decodable { let port: Int }
    process = try ChildProcess(try builtProduct("martlet"), ["dashboard"], environment: environment)
    let line = try await process.line("its port") { $0.contains("dashboard listens") }
    port = try JSONDecoder().decode(Entry.self, from: Data(line.utf8)).port
  }

  /// Returns the status of a page. `arguments` are curl's.
  package func status(of path: String, _ arguments: [String] = []) async throws -> Int {
    let text = try await ChildProcess.run(
      "curl",
      ["-sS", "-o", "/dev/null", "-w", "%{http_code}"] + arguments
        + ["http://127.0.0.1:\(port)\(path)"])
    return Int(text) ?? 0
  }

  @discardableResult
  package func stop() async throws -> Int32 { try await process.stop() }
}

extension Fleet {
  /// Starts a dashboard of this fleet.
  package func dashboard(_ changes: [String: String?] = [:]) async throws -> DashboardProcess {
    try await DashboardProcess(environment: environment(changes))
  }
}
