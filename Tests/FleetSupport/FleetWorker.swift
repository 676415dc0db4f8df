import Foundation
import Testing
package import TestSupport

/// A running `martlet worker` with its admin port.
package final class FleetWorker: Sendable {
  package let process: ChildProcess
  /// The queue that it serves, or the first of several.
  package let queue: String
  package let adminPort: Int

  /// `arguments` follow the name of the command.
  package init(_ arguments: [String] = [], environment: [String: String], queue: String) async throws {
    self.queue = queue
    process = try ChildProcess(try builtProduct("martlet"), ["worker"] + arguments, environment: environment)
    let line = try await process.line("its admin port") { $0.contains("admin port listens") }
    struct Entry: Decodable { let port: Int }
    adminPort = try JSONDecoder().decode(Entry.self, from: Data(line.utf8)).port
    try await process.line("its name") { $0.contains("worker starts") }
  }

  /// The status and the body of a response of the admin port.
  package func get(_ path: String) async throws -> (status: Int, body: String) {
    let text = try await ChildProcess.run(
      "curl", ["-sS", "-w", "\n%{http_code}", "http://127.0.0.1:\(adminPort)\(path)"])
    let end = text.lastIndex(of: "\n") ?? text.startIndex
    return (Int(text[end...].dropFirst()) ?? 0, String(text[..<end]))
  }

  /// Waits until the worker is ready and has a connection to APNs, unless it is in polling-only mode.
  package func ready() async throws {
    try await eventually("ready, with APNs") {
      let (status, body) = try await get("/readyz")
      return status == 200 && !body.contains(#""apns":"unreachable""#)
    }
  }

  /// Waits until the worker has no connection to APNs, and expects that it is ready nevertheless.
  package func withoutAPNs() async throws {
    try await eventually("ready, without APNs") {
      let (status, body) = try await get("/readyz")
      return status == 200 && body.contains(#""apns":"unreachable""#)
    }
  }

  /// The value of a metric, whose name includes the labels. Nil if it is absent.
  package func metric(_ sample: String) async throws -> Double? {
    let lines = try await get("/metrics").body.split(separator: "\n")
    return lines.first { $0.hasPrefix(sample + " ") }.flatMap { Double($0.dropFirst(sample.count + 1)) }
  }

  /// Kills the worker, as a crash would.
  package func kill() async throws {
    process.signal(SIGKILL)
    try await process.exit()
  }

  @discardableResult
  package func stop() async throws -> Int32 { try await process.stop() }
}
