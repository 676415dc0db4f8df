import Events
import PushModel
import TestSupport
import Testing

@testable import Registry

/// What becomes of the device of an instance, without Redis.
struct InstanceOperationTests {
  private let stored = InstanceRecord(token: "token-one-0123456789abcdef", environment: .sandbox, updatedAt: 100)

  private func types(_ operation: InstanceOperation, over stored: InstanceRecord?) -> [EventType]? {
    operation.decide(stored, of: "i", at: 1000)?.events.map(\.type)
  }

  @Test func `a new token removes the former one, the same one changes nothing`() {
    var other = stored
    other.token = "token-two-0123456789abcdef"
    #expect(types(.register(stored), over: nil) == [.tokenRegistered])
    #expect(types(.register(stored), over: stored) == [])
    #expect(types(.register(other), over: stored) == [.tokenRemoved, .tokenRegistered])
    var inactive = stored
    inactive.isActive = false
    #expect(types(.register(other), over: inactive) == [.tokenRegistered])
  }

  @Test(arguments: [(99, false), (100, true)])
  func `only the registration that was refused becomes inactive`(notAfter: Int64, isMarked: Bool) {
    let operation = InstanceOperation.deactivate(token: stored.token, notAfter: notAfter, reason: "Gone")
    #expect((operation.decide(stored, of: "i", at: 1000)?.record.isActive == false) == isMarked)
    var other = stored
    other.token = "token-two-0123456789abcdef"
    #expect(operation.decide(other, of: "i", at: 1000) == nil)
    var inactive = stored
    inactive.isActive = false
    #expect(operation.decide(inactive, of: "i", at: 1000) == nil)
    #expect(operation.decide(nil, of: "i", at: 1000) == nil)
  }

  @Test func `a backup replaces only an older record`() {
    var newer = stored
    newer.updatedAt = 101
    #expect(InstanceOperation.restore(stored).decide(stored, of: "i", at: 1000) == nil)
    #expect(InstanceOperation.restore(stored).decide(newer, of: "i", at: 1000) == nil)
    #expect(types(.restore(newer), over: stored) == [])
  }

  @Test func `a date later than now is stored as now, replaces nothing and is ended by any refusal`() {
    var later = stored
    later.updatedAt = 9_000_000_000_000
    #expect(InstanceOperation.restore(later).decide(stored, of: "i", at: 1000) == nil)
    #expect(InstanceOperation.restore(later).decide(nil, of: "i", at: 1000)?.record.updatedAt == 1000)
    let refusal = InstanceOperation.deactivate(token: stored.token, notAfter: 500, reason: "Gone")
    #expect(refusal.decide(later, of: "i", at: 1000)?.record.isActive == false)
  }
}
