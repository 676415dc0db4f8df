import JSON
import Jobs
import PushModel
import TestSupport
import Testing

struct JobResultTests {
  private func result() -> JobResult {
    JobResult(id: "j", status: .retrying, attempts: 2, worker: "w", claimedAt: 5, finishedAt: 9)
  }

  private func device(_ token: String, _ reason: String? = nil) -> DeviceResult {
    DeviceResult(
      token: DeviceToken(token), ok: reason == nil, status: reason == nil ? 200 : 400, apnsID: "id", reason: reason)
  }

  @Test func `a record has the documented shape`() {
    var record = result()
    record.status = .partial
    record.add(device("a"), as: .accepted)
    record.add(device("b", "Unregistered"), as: .stale)
    let expected =
      #"{"id":"j","status":"partial","accepted":1,"failed":1,"stale":1,"uncertain":0,"reasons":{"Unregistered":1},"#
      + #""results":[{"token":"a","ok":true,"status":200,"apnsId":"id"},"#
      + #"{"token":"b","ok":false,"status":400,"apnsId":"id","reason":"Unregistered"}],"#
      + #""attempts":2,"worker":"w","claimedAt":5,"finishedAt":9}"#
    #expect(String(decoding: record.json(), as: UTF8.self) == expected)
  }

  @Test func `a record is read as it was written`() {
    var record = result()
    record.reason = "quiet_hours"
    record.add(device("a\n", "x\"y"), as: .failed)
    record.add(device("b", "TIMEOUT"), as: .uncertain)
    record.add(DeviceResult(token: "c", ok: true, status: 200, apnsID: "id", uniqueID: "u"), as: .accepted)
    #expect(JobResult(parsing: record.json()) == record)
  }

  @Test func `an apns-unique-id stands in the record, and nothing if APNs sent none`() {
    var record = result()
    record.add(device("a"), as: .accepted)
    #expect(!String(decoding: record.json(), as: UTF8.self).contains("uniqueId"))
    record.add(DeviceResult(token: "b", ok: true, status: 200, apnsID: "id", uniqueID: "u"), as: .accepted)
    let entry = #"{"token":"b","ok":true,"status":200,"apnsId":"id","uniqueId":"u"}"#
    #expect(String(decoding: record.json(), as: UTF8.self).contains(entry))
  }

  @Test(arguments: ["", "[]", "{}", #"{"id":"j"}"#, #"{"id":"j","status":"what"}"#])
  func `text that is not a record gives nil`(text: String) {
    #expect(JobResult(parsing: Array(text.utf8)) == nil)
  }

  @Test func `counts that cannot be any are 0, and the greatest ones can be added up`() throws {
    let text =
      #"{"id":"j","status":"dead","accepted":4294967296,"failed":-1,"stale":9223372036854775807,"#
      + #""results":[1,{"token":"a"}]}"#
    let record = try #require(JobResult(parsing: Array(text.utf8)))
    var later = result()
    later.merge(earlier: record)
    later.merge(earlier: record)
    #expect(later.accepted == 1 << 33)
    #expect(later.failed == 0)
    #expect(later.stale == 0)
  }

  @Test func `devices are counted when the list of devices is full`() {
    var record = result()
    for index in 0..<250 { record.add(device("t\(index)", "R\(index)"), as: .failed) }
    #expect(record.failed == 250)
    #expect(record.results.count == JobResult.maximumResults)
    #expect(record.reasons.count == JobResult.maximumReasons + 1)
    #expect(record.reasons.last?.reason == "other")
    #expect(record.reasons.map(\.count).reduce(0, +) == 250)
  }

  @Test func `the result of an earlier attempt is added`() {
    var first = result()
    first.add(device("a"), as: .accepted)
    first.add(device("b", "Unregistered"), as: .stale)
    first.add(device("c", "TIMEOUT"), as: .uncertain)
    var second = result()
    second.add(device("c"), as: .accepted)
    second.merge(earlier: first)
    #expect(second.accepted == 2)
    #expect(second.stale == 1)
    // Pushes, not devices: one of them was never answered.
    #expect(second.uncertain == 1)
    #expect(second.results.map(\.token) == ["a", "b", "c"])
    #expect(second.settledStatus == .partial)
  }

  @Test func `a device that was uncertain is listed once, with the result of its last push`() {
    var first = result()
    first.add(device("c", "TIMEOUT"), as: .uncertain)
    first.add(device("a"), as: .accepted)
    var second = result()
    second.merge(earlier: first)
    second.add(device("c"), as: .accepted)
    #expect(second.results == [device("c"), device("a")])
    #expect(second.accepted == 2)
    #expect(second.uncertain == 1)
    #expect(second.settledStatus == .accepted)
    // The same when the second push was part of a page of a broadcast.
    var page = result()
    page.add(device("c"), as: .accepted)
    first.absorb(page)
    #expect(first.results == [device("c"), device("a")])
    #expect(first.uncertain == 1)
  }

  @Test func `the status follows from the counters`() {
    var record = result()
    #expect(record.settledStatus == .noDevices)
    record.add(device("a"), as: .accepted)
    #expect(record.settledStatus == .accepted)
    record.add(device("b", "x"), as: .failed)
    #expect(record.settledStatus == .partial)
  }
}
