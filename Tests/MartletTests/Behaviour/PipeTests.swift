import FleetSupport
import Foundation
import Testing
import TestSupport

/// Pipes without a writer in place of files.
struct PipeTests {
  private let fleet: Fleet

  init() async throws {
    fleet = try await Fleet()
  }

  @Test func `a pipe in place of a file blocks neither the start nor other requests`() async throws {
    let directory = try TemporaryDirectory()
    let pipe = directory.path + "/pipe"
    #expect(mkfifo(pipe, 0o600) == 0)
    for name in ["TZ", "MARTLET_POLICY_FILE", "REDIS_CA_CERT", "APNS_CA_CERT", "APNS_KEY_PATH"] {
      let child = try await fleet.martlet("worker", environment: [name: pipe])
      #expect(child.exitCode == 2)
      #expect(child.lines.contains { $0.hasPrefix("  \(name): ") }, "\(child.lines)")
    }
    let sidecar = try await fleet.sidecar(
      "sidecar", ["MARTLET_PUSH_SERVER_BACKUP": pipe, "MARTLET_PUSH_SERVER_OPEN": "1"])
    let answer = try await sidecar.ask(
      "/newtoken", as: "nobody", #"{"token":"\#(fleet.uniqueToken())","bundleId":"com.example.pipe"}"#)
    #expect(answer.status == 500)
    try await sidecar.process.line("the refusal of the pipe") { $0.contains("is not a regular file") }
    #expect(try await sidecar.ask("/readyz", as: "").status == 200)
    try await sidecar.stop()
  }

  @Test func `a worker goes on while nobody reads its log`() async throws {
    let queue = fleet.unique("unread")
    let directory = try TemporaryDirectory()
    let pipe = directory.path + "/log"
    #expect(mkfifo(pipe, 0o600) == 0)
    let reader = open(pipe, O_RDWR | O_CLOEXEC)
    defer { close(reader) }
    let worker = try ChildProcess(
      "sh", ["-c", #"exec "$0" worker 2> "$1""#, try builtProduct("martlet"), pipe],
      environment: fleet.environment(["MARTLET_QUEUES": queue]))
    // Each is refused with a line of the log: more than a pipe and the worker's memory hold.
    let bad = (0..<10_000).map { Array(#"{"to":{"user":"a"},"\#(String(repeating: "x", count: 60))\#($0)":1}"#.utf8) }
    try await fleet.enqueue(bad, on: queue)
    let id = fleet.unique("after")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"T"}"#, on: queue)
    #expect(try await fleet.record(id).status == "accepted")
    #expect(try await worker.stop() == 0)
  }
}
