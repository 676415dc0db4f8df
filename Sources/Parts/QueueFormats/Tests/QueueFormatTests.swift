import PushModel
import Crypto
import Testing

@testable import Jobs
@testable import QueueFormats

/// Elements as Sidekiq 6.4 and Celery 5.2 write them.
struct QueueFormatTests {
  init() { QueueFormatsPart.prepare() }

  private static let job = #"{"to":{"user":"alice"},"title":"Lunch?"}"#

  private func sidekiq(
    _ args: String = "[\(job)]", jid: String = #""537a5b61b8d09d4cb73c7cc0""#, more: String = ""
  ) -> [UInt8] {
    Array(
      (#"{"retry":true,"queue":"push","class":"Martlet","args":\#(args),"jid":\#(jid)\#(more),"#
        + #""created_at":1795520102.5323136,"enqueued_at":1795520102.532512}"#).utf8)
  }

  private func celery(
    _ content: String = "[[],\(job),{\"callbacks\":null}]", headers: String = "", properties: String = "",
    type: String = "application/json"
  ) -> [UInt8] {
    let body = Base64.encode(Array(content.utf8))
    return Array(
      (#"{"body":"\#(body)","content-encoding":"utf-8","content-type":"\#(type)","headers":{"lang":"py","#
        + #""task":"martlet.push","id":"548751f7-c575-4e95-902f-be7bd853c0bb","eta":null,"expires":null\#(headers),"#
        + #""retries":0,"argsrepr":"()"},"properties":{"priority":0,"body_encoding":"base64"\#(properties)}}"#).utf8)
  }

  private func reason(_ bytes: [UInt8], _ format: QueueFormat) -> String {
    do throws(JobError) {
      _ = try Job(parsing: bytes, as: format)
      return "accepted"
    } catch {
      return error.reason
    }
  }

  @Test func `an element of Sidekiq is its job, with the jid as its id`() throws {
    let job = try Job(parsing: sidekiq(), as: .sidekiq)
    #expect(job.addressee == .user("alice"))
    #expect(job.id == "537a5b61b8d09d4cb73c7cc0")
  }

  @Test func `a message of Celery is its job, given by name or by position`() throws {
    let named = try Job(parsing: celery(), as: .celery)
    #expect(named.addressee == .user("alice"))
    #expect(named.id == "548751f7-c575-4e95-902f-be7bd853c0bb")
    #expect(try Job(parsing: celery("[[\(Self.job)], {}, {}]"), as: .celery) == named)
  }

  @Test func `eta and expires of a message are the times of its job`() throws {
    let headers = #","eta":"2026-11-24T11:35:23.279333+00:00","expires":"2026-11-24T12:35:23.999999+01:00""#
    let job = try Job(parsing: celery(headers: headers), as: .celery)
    #expect(job.sendAt == 1_795_520_123_279)
    #expect(job.expiration == 1_795_520_123)
    #expect(job.ttl == nil)
  }

  @Test func `what the job says itself counts`() throws {
    let own = #"{"id":"own","to":{"user":"alice"},"title":"T","sendAt":100000000005,"ttl":60}"#
    let headers = #","eta":"2026-11-24T11:35:23.279333+00:00","expires":"2026-11-24T11:35:24.279333+00:00""#
    let job = try Job(parsing: celery("[[],\(own),{}]", headers: headers), as: .celery)
    #expect(job.id == "own")
    #expect(job.sendAt == 100_000_000_005)
    #expect(job.ttl == 60)
    #expect(job.expiration == nil)
    #expect(try Job(parsing: sidekiq("[\(own)]"), as: .sidekiq).id == "own")
  }

  @Test(arguments: QueueFormatsPart.formats)
  func `a job alone is accepted in a queue with a format`(format: QueueFormat) throws {
    for text in [Self.job, #"{"body":{"key":"K"},"class":"x","to":{"user":"a"}}"#, #"{"title":"T","to":{"user":"a"}}"#]
    {
      let bytes = Array(text.utf8)
      #expect(reason(bytes, format) == reason(bytes, native: ()))
    }
  }

  private func reason(_ bytes: [UInt8], native: Void) -> String {
    do throws(JobError) {
      _ = try Job(parsing: bytes)
      return "accepted"
    } catch {
      return error.reason
    }
  }

  @Test(arguments: QueueFormatsPart.formats)
  func `the reason names what an element looks like`(format: QueueFormat) {
    #expect(
      reason([0xAC, 0xED, 0, 5], format) == "not a job: looks like an object in Java's serialization; serialize as JSON"
    )
    #expect(reason(Array("[\(Self.job)]".utf8), format).hasPrefix("not a job: looks like an array of jobs"))
  }

  @Test func `a broken element of Sidekiq is refused in its words`() {
    let shape = "args: expected one object, the job"
    #expect(reason(sidekiq("[]"), .sidekiq) == shape)
    #expect(reason(sidekiq("[1]"), .sidekiq) == shape)
    #expect(reason(sidekiq("{}"), .sidekiq) == shape)
    #expect(reason(sidekiq("[\(Self.job),2]"), .sidekiq) == shape)
    #expect(reason(sidekiq(more: #","args":[]"#), .sidekiq) == "args: duplicate key")
    #expect(reason(sidekiq(jid: "7"), .sidekiq) == "jid: expected a string, found a number")
    #expect(reason(sidekiq(jid: #""a b""#), .sidekiq) == "jid: expected 1 to 128 letters, digits or any of ._:-")
    #expect(reason(sidekiq(#"[{"to":{"user":"a"},"titel":""}]"#), .sidekiq).hasPrefix(#"unknown field "titel""#))
    #expect(
      reason(Array(#"{"class":"Martlet","jid":"j"}"#.utf8), .sidekiq)
        == "args: missing; expected an element of Sidekiq, or a job with to")
    #expect(reason(Array("[1]".utf8), .sidekiq) == "expected an object, found an array")
    #expect(reason(sidekiq().dropLast(), .sidekiq).hasPrefix("not JSON"))
    #expect(reason(sidekiq() + [0x7D], .sidekiq).hasPrefix("not JSON"))
  }

  @Test func `a broken message of Celery is refused in its words`() {
    let shape = "body: expected one job, as kwargs or as the only element of args"
    for content in ["[[],{},{}]", "[]", "[[]]", "[1,2,3]", "[[2],{},{}]", "[[\(Self.job)],\(Self.job),{}]"] {
      #expect(reason(celery(content), .celery) == shape, "\(content)")
    }
    #expect(reason(celery("{}"), .celery) == "body: expected an array, found an object")
    #expect(reason(celery("[[],{"), .celery).hasPrefix("body: not JSON"))
    #expect(
      reason(celery(type: "application/x-python-serialize"), .celery) == "content-type: expected application/json")
    #expect(
      reason(celery(properties: #","body_encoding":"none""#), .celery) == "properties.body_encoding: expected base64")
    #expect(reason(celery(headers: #","compression":"gzip""#), .celery) == "headers.compression: must not be used")
    #expect(reason(celery(headers: #","eta":"soon""#), .celery).hasPrefix("headers.eta: expected a time with a zone"))
    #expect(reason(celery(headers: #","expires":60"#), .celery) == "headers.expires: expected a string, found a number")
    #expect(
      reason(Array(#"{"body":"","headers":{}}"#.utf8), .celery)
        == "body: not JSON: the text ends at byte 0, inside a value")
    #expect(reason(Array(#"{"body":"*","headers":{}}"#.utf8), .celery) == "body: expected base64")
    #expect(reason(Array(#"{"headers":{}}"#.utf8), .celery) == "body: missing")
    #expect(
      reason(Array(#"{"body":""}"#.utf8), .celery) == "headers: missing; expected a message of Celery, or a job with to"
    )
  }

  @Test func `the id of an element is found without its queue's format, even if its job is invalid`() {
    #expect(Job.salvagedID(from: sidekiq()) == "537a5b61b8d09d4cb73c7cc0")
    #expect(Job.salvagedID(from: sidekiq("[1]")) == "537a5b61b8d09d4cb73c7cc0")
    #expect(Job.salvagedID(from: sidekiq(#"[{"id":"own"}]"#)) == "own")
    #expect(Job.salvagedID(from: celery()) == "548751f7-c575-4e95-902f-be7bd853c0bb")
    #expect(Job.salvagedID(from: celery("[")) == "548751f7-c575-4e95-902f-be7bd853c0bb")
    #expect(Job.salvagedID(from: celery(#"[[],{"id":"own"},{}]"#)) == "own")
    #expect(Job.salvagedID(from: Array(#"{"to":{},"id":"plain"}"#.utf8)) == "plain")
  }

  @Test func `those who only look at a job see the job in an element`() throws {
    for bytes in [sidekiq(), celery()] {
      #expect(JobSummary(job: bytes).addressee == .user("alice"))
      #expect(JobSummary(job: bytes).id == Job.salvagedID(from: bytes))
      #expect(try Job(stored: bytes).addressee == .user("alice"))
      #expect(Job.json(in: bytes) == Array(Self.job.utf8))
    }
    #expect(Job.json(in: Array(Self.job.utf8)) == Array(Self.job.utf8))
  }

  @Test func `an element over 64 KiB is refused before it is read`() {
    let large = [UInt8](repeating: UInt8(ascii: "["), count: 65537)
    for format in QueueFormatsPart.formats { #expect(reason(large, format) == "larger than 65536 bytes") }
  }
}
