import EventLoop
import Glibc
import Testing
import TestSupport

struct RedisServerTests {
  @Test func `a server answers, is restarted with its data gone, and leaves no directory`() async throws {
    let server = try await RedisServer()
    try await server.redisCLI("SET", "k", "v w")
    #expect(try await server.redisCLI("GET", "k") == "v w")
    let first = server.pid
    try await server.restart()
    #expect(server.pid != first)
    #expect(try await server.redisCLI("EXISTS", "k") == "0")
    try await server.stop()
    #expect(access(server.directory, F_OK) == -1)
  }

  @Test func `a child's input, output lines and exit code are available`() async throws {
    let child = try ChildProcess(
      "sh", ["-c", "cat; echo bad >&2; echo $X; exit 3"], environment: ["X": "y"], input: "a\nb")
    #expect(try await child.exit() == 3)
    #expect(child.lines(of: .output) == ["a", "by"])
    #expect(child.lines(of: .error) == ["bad"])
  }

  @EventLoop
  @Test func `a test can wait for a condition on the loop`() async throws {
    var count = 0
    try await eventually("three looks") {
      count += 1
      return count == 3
    }
    await #expect(throws: TestTimeout.self) { try await eventually(within: .zero, "never") { false } }
  }
}
