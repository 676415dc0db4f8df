import Foundation
import TestSupport
import Testing

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
}
