import EventLoop
import HTTPServer
import Redis
import Synchronization
import Telemetry
import Testing

@testable import Sidecar

/// What a request that redis failed leaves in the log.
@EventLoop
struct FailureLogTests {
  private let written = Lines()

  private final class Lines: Sendable {
    let lines = Mutex<[String]>([])
  }

  private func failures(level: LogLevel = .info) -> FailedRequestLog {
    let written = written
    let log = Log(level: level, isText: true) { line in written.lines.withLock { $0.append(line) } }
    return FailedRequestLog(log, interval: .seconds(3600))
  }

  private var lines: [String] { written.lines.withLock { $0 } }

  private func request(_ route: String) -> SidecarRequest {
    SidecarRequest(http: HTTPRequest(method: "POST", path: route), route: route, parameter: nil)
  }

  @Test(arguments: [(LogLevel.info, 0), (.debug, 1)])
  func `an outage is not told again by every request`(level: LogLevel, count: Int) {
    failures(level: level).record(Refusal(.notSent("not connected")), of: request("/devices"))
    #expect(lines.count == count)
  }

  @Test(arguments: [
    RedisError.outcomeUnknown("no answer"), .reply(RedisReplyError(message: "OOM command not allowed")),
  ])
  func `what redis refused, or perhaps did, is told`(error: RedisError) {
    failures().record(Refusal(error), of: request("/devices"))
    #expect(lines.count == 1)
  }

  @Test func `of each route the first failure is told at once, and the others with their number`() {
    let failures = failures()
    for index in 1...1000 {
      failures.record(Refusal(.outcomeUnknown("no answer \(index)")), of: request("/devices"))
    }
    failures.record(Refusal(.outcomeUnknown("no answer")), of: request("/newpush"))
    #expect(lines.count == 2)
    failures.flush()
    #expect(lines.count == 3)
    #expect(lines.last?.contains("route=/devices requests=999 reason=") == true)
    #expect(lines.last?.contains("no answer 1000") == true)
    failures.flush()
    #expect(lines.count == 3)
    // What comes after quiet is a first one again.
    failures.record(Refusal(.outcomeUnknown("no answer")), of: request("/devices"))
    #expect(lines.count == 4)
  }
}
