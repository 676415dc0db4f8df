import HTTPServer
import Redis
import Synchronization
import Telemetry
import Testing

@testable import Sidecar

/// What a request that redis failed leaves in the log.
struct FailureLogTests {
  private func lines(_ error: RedisError, level: LogLevel = .info) -> [String] {
    let lines = Mutex<[String]>([])
    let log = Log(level: level, isText: true) { line in lines.withLock { $0.append(line) } }
    log.failure(
      error,
      of: SidecarRequest(http: HTTPRequest(method: "POST", path: "/devices"), route: "/devices", parameter: nil))
    return lines.withLock { $0 }
  }

  @Test func `an outage is not told again by every request`() {
    #expect(lines(.notSent("not connected")) == [])
    #expect(lines(.notSent("not connected"), level: .debug).count == 1)
  }

  @Test func `what redis refused, or perhaps did, is told`() {
    #expect(lines(.outcomeUnknown("no answer")).count == 1)
    #expect(lines(.reply(RedisReplyError(message: "OOM command not allowed"))).count == 1)
  }
}
