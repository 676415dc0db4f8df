import Foundation
import Testing
import TestSupport

/// No test may fail because its machine is slow: what waits has a limit of minutes, which only a failure reaches.
struct PatienceTests {
  /// Limits of less than a minute, as Swift, Python, curl and the shell write them.
  private static let limits = [
    #"within: *\.(nanoseconds|microseconds|milliseconds|seconds\([0-9]{1,2}\))"#, #"\.timeLimit\("#,
    #"--max-time[" ,]+[0-5]?[0-9]\b"#, #"\b(timeout|patience)=[0-5]?[0-9]\b"#, #"\.wait\([0-5]?[0-9]\)"#,
    #"\bSECONDS \+ [0-5]?[0-9]\)"#, #"(^|[ ;(])timeout (-\S+ )*[0-5]?[0-9] "#,
  ]

  @Test func `nothing that waits has a limit of less than a minute`() async throws {
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
    let parts = try FileManager.default.contentsOfDirectory(atPath: root.appending(path: "Sources/Parts").path())
    let folders = (["Tests", "Tools", "deploy/scripts"] + parts.map { "Sources/Parts/\($0)/Tests" }).map {
      root.appending(path: $0).path()
    }
    let grep = try ChildProcess(
      "grep",
      ["-rInE", "--exclude-dir=Fuzz", "--exclude-dir=__pycache__", Self.limits.joined(separator: "|")] + folders)
    #expect(try await grep.exit() == 1, "1: nothing was found")
    #expect(grep.lines == [])
  }
}
