import Events
import Jobs
import Testing

@testable import Queue

/// Events with the counters of a record.
struct ResultEventTests {
  private func text(_ event: Event) -> String { String(decoding: event.json, as: UTF8.self) }

  private func result(_ json: String) throws -> JobResult {
    try #require(JobResult(parsing: Array(json.utf8)))
  }

  @Test func `the end of a Live Activity tells its job, and its user if it has one`() throws {
    let result = try result(#"{"id":"j","status":"accepted","accepted":2,"attempts":1}"#)
    let job = EventJob(id: "j", queue: "push:jobs")
    #expect(
      text(.ended(activity: "order-7", user: "bob", job, result, at: 5))
        == #"{"type":"activity.ended","at":5,"data":{"id":"j","queue":"push:jobs","activity":"order-7","user":"bob","attempts":1,"accepted":2,"failed":0,"stale":0,"uncertain":0,"reasons":{}}}"#
    )
    #expect(!text(.ended(activity: "order-7", user: nil, job, result, at: 5)).contains("user"))
  }

  @Test func `a broadcast has its counters`() throws {
    let result = try result(
      #"{"id":"b","status":"partial","accepted":2,"failed":1,"stale":1,"reasons":{"Unregistered":1},"attempts":1}"#)
    let job = EventJob(id: "b", queue: "push:jobs", trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    #expect(
      text(.finished(job, app: "com.example.app", .partial, result, at: 5))
        == #"{"type":"broadcast.finished","at":5,"data":{"id":"b","queue":"push:jobs","trace":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","app":"com.example.app","status":"partial","attempts":1,"accepted":2,"failed":1,"stale":1,"uncertain":0,"reasons":{"Unregistered":1}}}"#
    )
  }
}
