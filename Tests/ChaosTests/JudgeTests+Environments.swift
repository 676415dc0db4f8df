import Testing

@testable import Chaos

/// Runs with devices of both environments.
extension JudgeTests {
  @Test func `a push that the other environment has refused is no duplicate, two accepted ones are`() {
    let sandbox = LedgerPush.client(1, at: 1)
    var evidence = evidence(job(), [push(at: 1, status: 400), push(at: 2, client: sandbox)])
    evidence.connections[sandbox] = [(0, 0)]
    #expect(broken(evidence) == [:])
    evidence.pushes[0] = push(at: 1)
    #expect(broken(evidence) == [.duplicate: 1])
    evidence.pushes = [push(at: 1, status: 400), push(at: 2, id: "other", client: sandbox)]
    #expect(broken(evidence) == [.identity: 1])
    evidence.pushes = [push(at: 1, status: 400), push(at: 2, client: sandbox, status: 400)]
    #expect(broken(evidence) == [.missing: 1])
  }

  @Test func `one port is two connections at two gateways`() {
    let line = Array(#"{"arrival":5,"client":65535,"apnsId":"a","token":"d","collapseId":"j","status":200}"#.utf8)
    #expect(LedgerPush(parsing: line)?.client == 65_535)
    #expect(LedgerPush(parsing: line, at: 1)?.client == 131_071)
  }

  @Test func `a device that APNs would accept stays registered`() {
    var evidence = evidence(job(), [push(at: 1)])
    evidence.removed = ["d"]
    #expect(broken(evidence) == [.removed: 1])
  }
}
