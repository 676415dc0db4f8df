import Events
import PushModel
import Testing

@testable import Registry

/// Who owns a device after each operation, without Redis.
struct DeviceOperationTests {
  private static let token = "token-decision-0123456789abcdef"
  private static let owned = DeviceMetadata(
    username: "ann", platform: .ios, updatedAt: 100, bundleID: "com.a", environment: .sandbox, createdAt: 50)
  private static let anonymous = DeviceMetadata(username: "", platform: .ios, updatedAt: 100, bundleID: "com.a")

  private func stored(_ metadata: DeviceMetadata?) -> StoredDevice { StoredDevice(Self.token, metadata?.json() ?? []) }

  private func register(
    _ user: String, app: String? = nil, isAssumed: Bool = false, over metadata: DeviceMetadata?
  ) -> DeviceChange {
    let registration = Registration(
      token: DeviceToken(Self.token), username: Username(user), platform: .android, bundleID: app,
      isBundleAssumed: isAssumed,
      now: 200)
    return DeviceOperation.register(registration).decide(stored(metadata))
  }

  private func written(_ change: DeviceChange) -> DeviceMetadata? {
    if case .written(let metadata) = change.record { metadata } else { nil }
  }

  /// A digest of 48 bits is no time, which would be read in its unit.
  @Test(arguments: [0, 1, 99_999_999_999_999, 100_000_000_000_000, 253_402_300_800_000, (1 << 48) - 1] as [Int64])
  func `what could be asked when a device was unreachable is read as it was written`(reach: Int64) throws {
    var metadata = Self.owned
    metadata.unreachable = reach
    #expect(DeviceMetadata(parsing: metadata.json())?.unreachable == reach)
    let token = String(repeating: "ab", count: 32)
    var record = try #require(InstanceRecord(parsing: Array(#"{"token":"\#(token)"}"#.utf8)))
    record.unreachable = reach
    #expect(InstanceRecord(parsing: record.json())?.unreachable == reach)
  }

  @Test func `a new device joins its owner's set and its app's audience`() {
    let change = register("ann", app: "com.a", over: nil)
    #expect(
      written(change)
        == DeviceMetadata(username: "ann", platform: .android, updatedAt: 200, bundleID: "com.a", createdAt: 200))
    #expect(change.joined == [.user("ann"), .audience("com.a")])
    #expect(change.left.isEmpty)
    #expect(change.newOwner == "ann")
    #expect(!change.isForced)
    #expect(change.report?.event(at: 1)?.type == .tokenRegistered)
  }

  @Test func `a refresh keeps what it does not say, and is no new device`() {
    let change = register("ann", over: Self.owned)
    #expect(
      written(change)
        == DeviceMetadata(
          username: "ann", platform: .android, updatedAt: 200, bundleID: "com.a", environment: .sandbox, createdAt: 50))
    #expect(change.newOwner == nil)
    let same = Registration(token: DeviceToken(Self.token), username: "ann", platform: .ios, now: 200)
    #expect(DeviceOperation.register(same).decide(stored(Self.owned)).report?.event(at: 1) == nil)
  }

  @Test func `a transfer leaves the sets of the former owner and app, also if Redis is full`() {
    let change = register("bob", app: "com.b", over: Self.owned)
    #expect(change.joined == [.user("bob"), .audience("com.b")])
    #expect(change.left == [.user("ann"), .audience("com.a")])
    #expect(change.isForced)
    #expect(change.newOwner == "bob")
    #expect(change.report?.event(at: 1)?.type == .tokenTransferred)
  }

  @Test func `an app that is only assumed does not replace a known one`() {
    #expect(written(register("ann", app: "com.b", isAssumed: true, over: Self.owned))?.bundleID == "com.a")
    #expect(written(register("ann", app: "com.b", isAssumed: true, over: nil))?.bundleID == "com.b")
  }

  @Test func `an anonymous registration takes a device neither from its owner nor from its app`() {
    #expect(register("", app: "com.a", over: Self.owned) == .nothing)
    #expect(register("", app: "com.b", over: Self.anonymous) == .nothing)
    let refreshed = register("", app: "com.a", over: Self.anonymous)
    #expect(refreshed.joined == [.audience("com.a")])
    #expect(refreshed.newOwner == nil)
    #expect(register("ann", over: Self.anonymous).joined == [.user("ann"), .audience("com.a")])
  }

  @Test func `only the owner's device is unregistered, another's token leaves the set`() {
    let own = DeviceOperation.unregister("ann").decide(stored(Self.owned))
    #expect(own.record == .deleted)
    #expect(own.left == [.user("ann"), .audience("com.a")])
    let foreign = DeviceOperation.unregister("bob").decide(stored(Self.owned))
    #expect(foreign.record == .kept)
    #expect(foreign.left == [.user("bob")])
    #expect(foreign.report == nil)
    #expect(DeviceOperation.unregister("").decide(stored(Self.owned)).left.isEmpty)
  }

  @Test(arguments: [("ann", 99, false), ("ann", 100, true), ("ann", 101, true), ("bob", 500, false), ("", 500, false)])
  func `a stale device is removed from the same owner, unless it was registered later`(
    owner: String, notAfter: Int64, isRemoved: Bool
  ) {
    let stale = StaleDevice(
      token: DeviceToken(Self.token), owner: Username(owner), bundleID: "com.old", notAfter: notAfter, reason: "Gone")
    let change = DeviceOperation.removeStale(stale, now: 1000).decide(stored(Self.owned))
    #expect((change.record == .deleted) == isRemoved)
    #expect(change.left == (isRemoved ? [.user("ann"), .audience("com.a"), .audience("com.old")] : []))
    #expect(change.report?.removal == (isRemoved ? "Gone" : nil))
    // Without metadata only the sets are left.
    let absent = DeviceOperation.removeStale(stale, now: 1000).decide(stored(nil))
    #expect(absent.record == .kept)
    #expect(absent.left == (owner.isEmpty ? [] : [.user(Username(owner))]) + [.audience("com.old")])
    #expect(absent.report == nil)
  }

  @Test func `a backup replaces only older records, takes no device from its owner and tells nothing`() {
    func restore(_ metadata: DeviceMetadata, over former: DeviceMetadata?, isAdmitted: Bool = false) -> DeviceChange {
      DeviceOperation.restore(metadata, isAdmitted: isAdmitted, now: 1000).decide(stored(former))
    }
    var newer = Self.owned
    newer.updatedAt = 101
    #expect(restore(Self.owned, over: Self.owned) == .nothing)
    #expect(restore(Self.owned, over: newer) == .nothing)
    #expect(written(restore(newer, over: Self.owned)) == newer)
    #expect(restore(newer, over: Self.owned).newOwner == nil)
    var nobodys = Self.anonymous
    nobodys.updatedAt = 101
    #expect(restore(nobodys, over: Self.owned) == .nothing)
    #expect(restore(newer, over: nil).newOwner == "ann")
    #expect(restore(newer, over: nil, isAdmitted: true).newOwner == nil)
    #expect(restore(newer, over: nil).report == nil)
    #expect(!restore(newer, over: nobodys).isForced)
  }

  @Test func `a date later than now is stored as now and replaces nothing, whichever of both has it`() {
    var later = Self.owned
    later.updatedAt = 9_000_000_000_000
    later.username = "bob"
    let restore = DeviceOperation.restore(later, isAdmitted: true, now: 1000)
    #expect(restore.decide(stored(Self.owned)) == .nothing)
    #expect(written(restore.decide(stored(nil)))?.updatedAt == 1000)
    #expect(DeviceOperation.adopt(later, now: 1000).decide(stored(Self.owned)).record == .kept)
    let stale = StaleDevice(token: DeviceToken(Self.token), owner: "bob", bundleID: nil, notAfter: 500, reason: "Gone")
    #expect(DeviceOperation.removeStale(stale, now: 1000).decide(stored(later)).record == .deleted)
  }

  @Test func `a device makes room only if it is what was read`() {
    func evict(_ read: [UInt8], from user: String) -> DeviceChange {
      DeviceOperation.evict(user: Username(user), stored: read, above: 0).decide(stored(Self.owned))
    }
    #expect(evict([], from: "ann") == .nothing)
    #expect(evict(Self.owned.json(), from: "ann").record == .deleted)
    #expect(evict(Self.owned.json(), from: "ann").report?.removal == RemovalCause.limit)
    #expect(evict(Self.owned.json(), from: "bob").left == [.user("bob")])
    #expect(evict(Self.owned.json(), from: "bob").record == .kept)
  }

  @Test func `a set keeps the devices whose metadata names it`() {
    func clean(_ set: DeviceSet, _ metadata: DeviceMetadata?) -> DeviceChange {
      DeviceOperation.clean(set).decide(stored(metadata))
    }
    #expect(clean(.user("ann"), Self.owned) == .nothing)
    #expect(clean(.audience("com.a"), Self.owned) == .nothing)
    #expect(clean(.user("bob"), Self.owned).left == [.user("bob")])
    #expect(clean(.user("bob"), Self.owned).requiresEntry)
    #expect(clean(.user("bob"), Self.owned).report?.removal == RemovalCause.mismatch)
    #expect(clean(.user("bob"), nil).report?.removal == RemovalCause.expired)
    #expect(clean(.audience("com.b"), Self.owned).report == nil)
    #expect(DeviceOperation.repair.decide(stored(Self.owned)).joined == [.user("ann"), .audience("com.a")])
  }

  @Test func `metadata that cannot be read belongs to nobody`() {
    let unreadable = StoredDevice(Self.token, Array(#"{"username":{}}"#.utf8))
    #expect(DeviceOperation.forget.decide(unreadable) == .nothing)
    #expect(DeviceOperation.unregister("ann").decide(unreadable).record == .kept)
    let registration = Registration(token: DeviceToken(Self.token), username: "ann", platform: .ios, now: 1)
    #expect(DeviceOperation.register(registration).decide(unreadable).joined == [.user("ann")])
  }
}
