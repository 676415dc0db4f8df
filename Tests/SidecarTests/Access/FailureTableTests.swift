import EventLoop
import Registry
import SidecarSupport
import Telemetry
import Testing
import TestSupport

@testable import Sidecar
@testable import Credentials

/// The failed authentications that one process has seen. Times are nanoseconds.
struct FailureTableTests {
  private let limit = WindowLimit(3, per: .nanoseconds(100))

  private func claim(_ name: String, from address: String = "192.0.2.1") -> PresentedName {
    PresentedName(kind: .user, address: address, name: name)
  }

  @Test func `a claim that reaches the limit is blocked until its window ends`() {
    var table = FailureTable(limit)
    for count in 1...3 {
      #expect(table.blocked(claim("a"), now: 10) == nil)
      let failure = table.fail(claim("a"), now: 10)
      #expect(failure.count == count)
    }
    #expect(table.blocked(claim("a"), now: 10) == .nanoseconds(100))
    #expect(table.blocked(claim("a"), now: 109) == .nanoseconds(1))
    #expect(table.blocked(claim("a"), now: 110) == nil)
    let next = table.fail(claim("a"), now: 110)
    #expect(next.count == 1)
    #expect(table.blocked(claim("a"), now: 110) == nil)
  }

  @Test func `another name, another address and another kind are not blocked`() {
    var table = FailureTable(limit)
    for _ in 1...3 { _ = table.fail(claim("a"), now: 0) }
    #expect(table.blocked(claim("b"), now: 0) == nil)
    #expect(table.blocked(claim("a", from: "192.0.2.2"), now: 0) == nil)
    #expect(table.blocked(PresentedName(kind: .instance, address: "192.0.2.1", name: "a"), now: 0) == nil)
  }

  @Test func `a claim is blocked for as long as Redis reports`() {
    var table = FailureTable(limit)
    _ = table.fail(claim("a"), now: 0)
    table.block(claim("a"), for: .nanoseconds(40), now: 5)
    #expect(table.blocked(claim("a"), now: 44) == .nanoseconds(1))
    #expect(table.blocked(claim("a"), now: 45) == nil)
  }

  @Test func `a flood of claims fills neither the table nor Redis`() {
    var table = FailureTable(limit, capacity: 50)
    var (shared, largest) = (0, 0)
    for index in 0..<10_000 {
      if table.fail(claim("name-\(index)"), now: 1).isShared { shared += 1 }
      largest = max(largest, table.count)
    }
    #expect(shared == 50)
    #expect(largest <= 100)
    // A name that is guessed all the time stays in the table.
    for index in 0..<10 where table.blocked(claim("target"), now: 2) == nil {
      _ = table.fail(claim("target"), now: 2)
      for other in 0..<20 { _ = table.fail(claim("other-\(index)-\(other)"), now: 2) }
    }
    #expect(table.blocked(claim("target"), now: 2) != nil)
    // In the next window Redis counts again.
    let later = table.fail(claim("later"), now: 102)
    #expect(later.isShared)
  }

  @Test func `a flood of new names does not end a block`() {
    var table = FailureTable(limit, capacity: 50)
    for _ in 1...3 { _ = table.fail(claim("blocked"), now: 0) }
    for index in 0..<10_000 { _ = table.fail(claim("name-\(index)"), now: 1) }
    #expect(table.blocked(claim("blocked"), now: 2) == .nanoseconds(98))
  }

  @Test func `of too many blocks the one that ends first is dropped`() {
    var table = FailureTable(limit, capacity: 50)
    for index in 0..<60 {
      for _ in 1...3 { _ = table.fail(claim("name-\(index)"), now: UInt64(index)) }
    }
    #expect(table.count <= 150)
    for index in 0..<60 {
      #expect((table.blocked(claim("name-\(index)"), now: 60) != nil) == (index >= 10), "name-\(index)")
    }
  }

  @Test func `a claim survives the change of generations`() {
    var table = FailureTable(limit)
    _ = table.fail(claim("first"), now: 0)
    _ = table.fail(claim("a"), now: 90)
    _ = table.fail(claim("a"), now: 105)
    let third = table.fail(claim("a"), now: 120)
    #expect(third.count == 3)
    #expect(table.blocked(claim("a"), now: 189) == .nanoseconds(1))
  }
}

/// The log lines of failed authentications.
struct FailedAuthenticationLogTests {
  @Test func `the first failure is logged at once, later ones together, with at most five addresses`() async {
    let lines = LogLines()
    await record(lines.log(level: .warn, isText: true))
    let written = lines.lines
    #expect(written.count == 2)
    #expect(written[0].contains("authentication failed failures=1 refused=0 addresses=192.0.2.0\n"))
    #expect(
      written[1].contains(
        "failures=1000 refused=500 addresses=192.0.2.0, 192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4\n"))
  }

  @EventLoop private func record(_ log: Log) {
    let failures = FailedAuthenticationLog(log, interval: .seconds(3600))
    failures.record(from: "192.0.2.0", isRefused: false)
    for index in 0..<1000 { failures.record(from: "192.0.2.\(index % 200)", isRefused: false) }
    for _ in 0..<500 { failures.record(from: "192.0.2.9", isRefused: true) }
    failures.flush()
    failures.flush()
  }
}
