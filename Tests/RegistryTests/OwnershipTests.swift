import Testing

@testable import Registry
@testable import PushModel

struct OwnershipTests {
  private let token = "abcdef0123456789abcdef"
  private let own = #"{"username":"alice","platform":"ios","updatedAt":5,"bundleId":"com.a","environment":"sandbox"}"#

  private func decision(_ entry: String, _ metadata: String?) -> Ownership.Decision {
    Ownership.decide(entry: Array(entry.utf8), metadata: metadata.map { Array($0.utf8) }, owner: "alice")
  }

  private func removal(_ entry: String, _ reason: Removal.Reason) -> Ownership.Decision {
    .remove(Removal(entry: Array(entry.utf8), reason: reason))
  }

  @Test func `an entry whose metadata names the owner is sent to`() {
    let device = Device(
      token: DeviceToken(token), username: "alice", bundleID: "com.a", environment: .sandbox, updatedAt: 5, kind: .app)
    #expect(decision(token, own) == .send(device))
  }

  @Test func `an entry that is another's, unknown or unreadable is removed`() {
    #expect(decision(token, #"{"username":"bob"}"#) == removal(token, .otherOwner))
    for absent in [nil, ""] { #expect(decision(token, absent) == removal(token, .noMetadata)) }
    for bad in ["[]", "{}", "nonsense", #"{"username":7}"#, #"{"username":"alice""#] {
      #expect(decision(token, bad) == removal(token, .invalidMetadata), "\(bad)")
    }
    for nobody in [#"{"username":""}"#, #"{"username":" "}"#] {
      #expect(decision(token, nobody) == removal(token, .otherOwner), "\(nobody)")
    }
  }

  @Test func `an anonymous device belongs to its app`() {
    let metadata = DeviceMetadata(username: "", platform: .ios, updatedAt: 5, bundleID: "com.a", createdAt: 4)
    #expect(DeviceMetadata(parsing: metadata.json()) == metadata)
    #expect(
      Ownership.decide(entry: Array(token.utf8), metadata: metadata.json(), app: "com.a")
        == .send(
          Device(token: DeviceToken(token), username: nil, bundleID: "com.a", updatedAt: 5, createdAt: 4, kind: .app)))
  }

  @Test(arguments: ["", "short", "abcdef 0123456789abcdef", "abcdef0123456789abcde\0", "abcdef0123456789abcdé"])
  func `an entry that is not a token is removed, even if it has metadata`(entry: String) {
    #expect(decision(entry, own) == removal(entry, .malformedToken))
  }

  @Test func `an entry of an audience must belong to the app`() {
    let bytes = Array(token.utf8)
    #expect(
      Ownership.decide(entry: bytes, metadata: Array(own.utf8), app: "com.b")
        == .remove(Removal(entry: bytes, reason: .otherApp)))
    guard case .send = Ownership.decide(entry: bytes, metadata: Array(own.utf8), app: "com.a") else {
      Issue.record("its own app's device is not sent to")
      return
    }
  }

  @Test func `metadata comes back as it was`() {
    let metadata = DeviceMetadata(
      username: "álice", platform: .android, updatedAt: 1_790_000_000_000, bundleID: "com.a", environment: .production,
      createdAt: 7)
    #expect(DeviceMetadata(parsing: metadata.json()) == metadata)
  }

  @Test func `unknown and malformed members of metadata are ignored`() {
    let text = #"{"x":[{}],"username":" Alice ","platform":"web","updatedAt":1.79e12,"bundleId":7,"environment":null}"#
    var metadata = DeviceMetadata(username: "alice", platform: .ios, updatedAt: 1_790_000_000_000)
    metadata.storedName = " Alice "
    #expect(DeviceMetadata(parsing: Array(text.utf8)) == metadata)
  }

  @Test func `an instance's record comes back as it was`() {
    let record = InstanceRecord(
      token: DeviceToken(token), environment: .sandbox, bundleID: "com.a", updatedAt: 9, isActive: false)
    #expect(InstanceRecord(parsing: record.json()) == record)
    #expect(InstanceRecord(parsing: Array(#"{"token":"bad"}"#.utf8)) == nil)
  }

  @Test func `a shard never changes`() {
    #expect(AudienceShard.shard(of: "abcdef0123456789abcdef") == 0)
    #expect(AudienceShard.shard(of: "fedcba9876543210fedcba") == 10)
    #expect(AudienceShard.shard(of: "c1:APA91b-_.") == 8)
    let shards = Set((0..<1000).map { AudienceShard.shard(of: "token-\($0)") })
    #expect(shards == Set(0..<AudienceShard.count))
  }

  @Test func `a cursor with any entry is read as it was written`() {
    for entry in [[], Array("abc:d".utf8), [0, 255, 37, 48]] as [[UInt8]] {
      let cursor = AudienceCursor(shard: 15, lastEntry: entry)
      #expect(AudienceCursor(cursor.description) == cursor)
    }
    #expect(AudienceCursor(shard: 3, lastEntry: Array("a:b".utf8)).description == "03:a:b")
    for bad in ["", "3", ":", "16:", "-1:", "x:", "1:%", "1:%4", "1:%zz"] { #expect(AudienceCursor(bad) == nil) }
  }
}
