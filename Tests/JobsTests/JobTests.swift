import Jobs
import Testing
@testable import PushModel

struct JobTests {
  private func job(_ text: String) throws -> Job {
    try Job(parsing: Array(text.utf8))
  }

  private func payload(_ text: String) throws -> String {
    let job = try job(text)
    return String(decoding: try job.apnsPayload(), as: UTF8.self)
  }

  @Test(arguments: Corpus.valid)
  func `a valid job is accepted`(text: String) throws {
    _ = try job(text)
  }

  @Test(arguments: Corpus.invalid.indices)
  func `an invalid job is refused with a reason that its producer can act on`(index: Int) {
    let (text, reason) = Corpus.invalid[index]
    #expect(throws: JobError(reason: reason)) { try job(text) }
  }

  @Test(arguments: [
    #""title":"t","data":{"a":{"b":[null]}}"#, #""payload":{"aps":{"alert":null}}"#, #""title":"t","data":{"a":null}"#,
  ])
  func `a null that is sent is noticed, and said before the job is enqueued`(members: String) throws {
    let job = try job(#"{"to":{"user":"a"},\#(members)}"#)
    #expect(job.hasNullInPayload)
    #expect(job.hints == [Job.nullHint])
  }

  @Test func `a null that stands for no field is none of the payload`() throws {
    let job = try job(#"{"to":{"user":"a"},"title":"t","data":{"a":"null"},"payload":null,"badge":null}"#)
    #expect(!job.hasNullInPayload && job.hints.isEmpty)
    let state = #"{"event":"update","contentState":{"a":null},"staleDate":null}"#
    #expect(try self.job(#"{"to":{"activity":"m"},"liveActivity":\#(state)}"#).hasNullInPayload)
  }

  @Test func `a job over 64 KiB is refused before it is read`() {
    #expect(throws: JobError(reason: "larger than 65536 bytes")) {
      try Job(parsing: [UInt8](repeating: UInt8(ascii: "["), count: 65537))
    }
  }

  @Test func `a user is trimmed and lower-cased`() throws {
    #expect(try job(#"{"to":{"user":"\t ÄLice \n"},"title":"t"}"#).addressee == .user("älice"))
  }

  @Test func `a job has at most a thousand tokens`() throws {
    func tokens(_ count: Int) -> String {
      let list = Array(repeating: "\"\(Corpus.token)\"", count: count).joined(separator: ",")
      return #"{"to":{"tokens":[\#(list)]},"title":"t"}"#
    }
    guard case .tokens(let accepted) = try job(tokens(1000)).addressee else {
      Issue.record("not an addressee of tokens")
      return
    }
    #expect(accepted.count == 1000)
    #expect(throws: JobError(reason: "to.tokens: more than 1000 tokens; split the job")) { try job(tokens(1001)) }
  }

  @Test func `a notification that is neither seen nor heard is a background push`() throws {
    let silent = try job(#"{"to":{"user":"a"},"contentAvailable":true}"#)
    #expect(silent.pushType == .background)
    #expect(silent.priority == 5)
    let alert = try job(#"{"to":{"user":"a"},"contentAvailable":true,"body":"b"}"#)
    #expect(alert.pushType == .alert)
    #expect(alert.priority == 10)
  }

  @Test func `the parts of a notification become aps, and data is beside it`() throws {
    let text = #"""
      {"to":{"user":"a"},"title":"T\"","subtitle":"S","body":"B","badge":2,"sound":"ping","threadId":"th",
      "category":"c","contentAvailable":true,"mutableContent":true,"interruptionLevel":"active","relevanceScore":0.5,
      "data":{ "x": [1, 2], "y":null }}
      """#
    let expected =
      #"{"aps":{"alert":{"title":"T\"","subtitle":"S","body":"B"},"badge":2,"sound":"ping","thread-id":"th","#
      + #""category":"c","content-available":1,"mutable-content":1,"interruption-level":"active","#
      + #""relevance-score":0.5}, "x": [1, 2], "y":null }"#
    #expect(try payload(text) == expected)
  }

  @Test(arguments: ["widgets", "controls"])
  func `a push to an extension says that its content has changed, beside data`(type: String) throws {
    let job = #"{"to":{"user":"a"},"pushType":"\#(type)""#
    #expect(try payload(job + "}") == #"{"aps":{"content-changed":true}}"#)
    #expect(try payload(job + #","data":{"a":1}}"#) == #"{"aps":{"content-changed":true},"a":1}"#)
    #expect(try payload(job + #","payload":{"aps":{}}}"#) == #"{"aps":{}}"#)
  }

  @Test(arguments: ["voip", "pushtotalk"])
  func `a call is not stored by APNs, unless its producer says so`(type: String) throws {
    let text = #"{"to":{"user":"a"},"pushType":"\#(type)""#
    #expect(try job(text + "}").expiration == 0)
    #expect(try job(text + "}").priority == 10)
    #expect(try job(text + #","ttl":30}"#).expiration == nil)
    #expect(try job(text + #","expiration":1790000000}"#).expiration == 1_790_000_000)
    #expect(try job(#"{"to":{"user":"a"},"title":"t"}"#).expiration == nil)
  }

  @Test func `empty data adds nothing`() throws {
    #expect(try payload(#"{"to":{"user":"a"},"badge":1,"data":{ }}"#) == #"{"aps":{"badge":1}}"#)
  }

  @Test func `a critical sound keeps its parts`() throws {
    let text = #"{"to":{"user":"a"},"sound":{"volume":1,"critical":1,"name":"s"}}"#
    #expect(try payload(text) == #"{"aps":{"sound":{"critical":1,"name":"s","volume":1.0}}}"#)
  }

  @Test func `a payload is sent byte for byte`() throws {
    #expect(
      try payload(#"{"to":{"user":"a"},"payload":{ "aps" : {"alert":"\u00e9"} } }"#)
        == #"{ "aps" : {"alert":"\u00e9"} }"#)
  }

  @Test func `a payload that is too large for APNs is refused`() throws {
    let body = String(repeating: "x", count: 4500)
    #expect(throws: JobError(reason: "PayloadTooLarge: 4529 bytes, at most 4096")) {
      try job(#"{"to":{"user":"a"},"body":"\#(body)"}"#).apnsPayload()
    }
    _ = try job(#"{"to":{"user":"a"},"body":"\#(body)","pushType":"voip"}"#).apnsPayload()
  }

  @Test(arguments: ["contentState", "attributes", "data", "title", "body"])
  func `the largest part of a Live Activity that is too large is named`(part: String) throws {
    let text = String(repeating: "x", count: 4500)
    func json(_ name: String) -> String {
      let isText = ["title", "body"].contains(name)
      let value = name == part ? (isText ? text : #"{"x":"\#(text)"}"#) : (isText ? "short" : "{}")
      return isText ? #""\#(name)":"\#(value)""# : #""\#(name)":\#(value)"#
    }
    let activity = #"{"event":"start","id":"m","attributesType":"M",\#(json("attributes")),\#(json("contentState"))}"#
    let start = try job(
      #"{"to":{"user":"a"},"liveActivity":\#(activity),\#(json("data")),\#(json("title")),\#(json("body"))}"#)
    do {
      _ = try start.apnsPayload()
      Issue.record("it is too large")
    } catch {
      #expect(error.reason.contains("at most 4096; the largest part is \(part) (45"), "\(error.reason)")
    }
  }

  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("2026-01-31T09:30:00.250+01:00", 1_769_848_200_250),
      ("2024-02-29T23:59:59.9999Z", 1_709_251_199_999), ("2000-03-01T00:00-0530", 951_888_600_000),
    ] as [(String, Int64)])
  func `a time with a zone becomes unix milliseconds`(text: String, milliseconds: Int64) throws {
    #expect(try job(#"{"to":{"user":"a"},"title":"t","sendAt":"\#(text)"}"#).sendAt == milliseconds)
  }

  @Test(arguments: ["2026-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2026-04-31T00:00:00Z"])
  func `days that do not exist are refused`(text: String) {
    #expect(throws: JobError.self) { try job(#"{"to":{"user":"a"},"title":"t","sendAt":"\#(text)"}"#) }
  }

  @Test func `the length of a collapse id is measured in bytes`() {
    let id = String(repeating: "é", count: 33)
    #expect(throws: JobError(reason: "collapseId: expected 1 to 64 bytes of UTF-8")) {
      try job(#"{"to":{"user":"a"},"title":"t","collapseId":"\#(id)"}"#)
    }
  }

  @Test(arguments: [#""e%""#, #"{"e%":1,"e%":2}"#])
  func `a reason stays short, even if it quotes a long name`(text: String) throws {
    // One character of many bytes.
    let name = String(repeating: "\u{301}", count: 10_000)
    let field = text.replacing("%", with: name)
    let json = text.hasPrefix("{") ? #"{"to":{"user":"a"},"title":"t","data":\#(field)}"# : "{\(field):1}"
    let error = try #require(throws: JobError.self) { try job(json) }
    #expect(error.reason.utf8.count < 200)
  }

  @Test func `the id of an invalid job is found`() {
    #expect(Job.salvagedID(from: Array(#"{"titel":1,"id":"x","#.utf8)) == "x")
    #expect(Job.salvagedID(from: Array(#"{"id":"not an id"}"#.utf8)) == nil)
    #expect(Job.salvagedID(from: [0xFF]) == nil)
  }
}
