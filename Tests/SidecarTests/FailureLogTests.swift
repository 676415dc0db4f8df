import EventLoop
import HTTPServer
import Redis
import SidecarSupport
import Telemetry
import Testing
import TestSupport

@testable import Sidecar

/// The log lines of requests that failed because of Redis.
@EventLoop
struct FailureLogTests {
  private let written = LogLines()

  private func failures(level: LogLevel = .info, interval: Duration = .seconds(3600)) -> FailedRequestLog {
    FailedRequestLog(written.log(level: level, isText: true), interval: interval)
  }

  private var lines: [String] { written.lines }

  private func fault(_ error: RedisError) throws -> HTTPFault { try #require(Refusal(error).fault) }

  @Test(arguments: [(LogLevel.info, 0), (.debug, 1)])
  func `during an outage requests are logged on level debug only`(level: LogLevel, count: Int) throws {
    failures(level: level).record(try fault(.notSent("not connected")), of: "/devices")
    #expect(lines.count == count)
  }

  @Test(arguments: [
    RedisError.outcomeUnknown("no answer"), .reply(RedisReplyError(message: "OOM command not allowed")),
  ])
  func `a refused or unconfirmed command is logged`(error: RedisError) throws {
    failures().record(try fault(error), of: "/devices")
    #expect(lines.count == 1)
  }

  @Test func `the first failure of each route is logged at once, later ones with their number`() async throws {
    let failures = failures(interval: .milliseconds(200))
    for index in 1...1000 {
      failures.record(try fault(.outcomeUnknown("no answer \(index)")), of: "/devices")
    }
    failures.record(try fault(.outcomeUnknown("no answer")), of: "/newpush")
    #expect(lines.count == 2)
    try await eventually("the others are logged") { lines.count == 3 }
    #expect(lines.last?.contains("route=/devices requests=999 reason=") == true)
    #expect(lines.last?.contains("no answer 1000") == true)
    try await Task.sleep(for: .milliseconds(600))
    #expect(lines.count == 3)
    // After a quiet interval the next failure counts as the first.
    failures.record(try fault(.outcomeUnknown("no answer")), of: "/devices")
    #expect(lines.count == 4)
  }
}
