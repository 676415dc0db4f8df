import EventLoop
import HTTPClient
import JSON
import Testing

@testable import Events
@testable import Webhook

/// The webhook with a clock of its own: no sockets, no Redis.
struct WebhookDeliveryTests {
  private static let hour: Int64 = 3_600_000

  private func entry(_ number: Int) -> EventPage.Entry {
    EventPage.Entry(
      id: "1700000000000-\(number)",
      event: Array(#"{"type":"job.dead","at":1700000000000,"data":{"id":"job-\#(number)"}}"#.utf8))
  }

  /// The entries from `first` to `last` of a stream whose first `deleted` entries are gone.
  private func page(_ first: Int, _ last: Int, deleted: Int = 0, of total: Int? = nil) -> EventPage {
    let total = total ?? last
    return EventPage(
      entries: first <= last ? (first...last).map(entry) : [], length: Int64(total - deleted),
      firstID: total > deleted ? "1700000000000-\(deleted + 1)" : nil, lastID: "1700000000000-\(total)",
      total: Int64(total))
  }

  private func answer(_ status: Int, retryAfter: String? = nil) -> WebhookAnswer {
    WebhookAnswer(HTTPAnswer(status: status, headers: retryAfter.map { [("retry-after", $0)] } ?? []))
  }

  private func posted(_ action: WebhookDelivery.Action) throws -> WebhookBatch {
    guard case .post(let batch) = action else {
      Issue.record("\(action)")
      throw CancellationError()
    }
    return batch
  }

  /// Reads entries and begins to send them.
  private func begin(_ delivery: inout WebhookDelivery, _ page: EventPage, at now: Int64) throws -> WebhookBatch {
    guard case .read = delivery.due(at: now) else { throw CancellationError() }
    #expect(delivery.read(page, at: now) == .save)
    return try posted(delivery.saved(at: now))
  }

  @Test func `the bounds of a batch are stored before it is sent, and the cursor after`() throws {
    var delivery = WebhookDelivery(WebhookState())
    #expect(delivery.due(at: 0) == .read(after: "0-0", through: nil))
    #expect(delivery.read(page(1, 3), at: 0) == .save)
    #expect(delivery.state.batch == .init(first: "1700000000000-1", last: "1700000000000-3", count: 3))
    #expect(delivery.state.cursor == "0-0")
    let batch = try posted(delivery.saved(at: 0))
    #expect(delivery.posted(answer(204), at: 0, random: 0) == .save)
    #expect(delivery.state.cursor == "1700000000000-3")
    #expect(delivery.state.batch == nil)
    #expect(delivery.state.delivered == 3)
    #expect(batch.id == "evt_1700000000000-1_1700000000000-3")
    #expect(delivery.saved(at: 0) == .wait(until: 1000))
  }

  @Test func `an empty stream is looked at every second`() {
    var delivery = WebhookDelivery(WebhookState())
    _ = delivery.due(at: 0)
    #expect(delivery.read(page(1, 0), at: 5000) == .wait(until: 6000))
  }

  @Test func `a full page is followed by the next one at once`() throws {
    var delivery = WebhookDelivery(WebhookState())
    _ = try begin(&delivery, page(1, 100, of: 150), at: 0)
    _ = delivery.posted(answer(200), at: 0, random: 0)
    #expect(delivery.saved(at: 0) == .read(after: "1700000000000-100", through: nil))
  }

  @Test func `a refused batch is sent again, the same, after a growing time`() throws {
    var delivery = WebhookDelivery(WebhookState())
    let batch = try begin(&delivery, page(1, 3), at: 0)
    var now: Int64 = 0
    var delays: [Int64] = []
    for _ in 0..<10 {
      #expect(delivery.posted(answer(503), at: now, random: 1) == .save)
      guard case .wait(let next) = delivery.saved(at: now) else { throw CancellationError() }
      delays.append((next - now) / 1000)
      now = next
      #expect(try posted(delivery.due(at: now)) == batch)
    }
    #expect(delays == [5, 10, 20, 40, 80, 160, 320, 640, 900, 900])
    #expect(delivery.takeNotices() == [.failing("HTTP 503")])
    _ = delivery.posted(answer(200), at: now, random: 1)
    #expect(delivery.takeNotices() == [.resumed(after: now)])
    #expect(delivery.state.failure == nil)
  }

  @Test(arguments: [("30", 30_000), ("999999", 3_600_000), ("-5", 0), ("soon", 0), ("99999999999999999999", 0)])
  func `Retry-After is respected within bounds`(text: String, milliseconds: Int64) throws {
    var delivery = WebhookDelivery(WebhookState())
    _ = try begin(&delivery, page(1, 1), at: 0)
    _ = delivery.posted(answer(429, retryAfter: text), at: 0, random: 0)
    #expect(delivery.saved(at: 0) == .wait(until: milliseconds))
  }

  @Test func `a receiver that fails for six hours is paused, tried every 15 minutes, and resumes`() throws {
    var delivery = WebhookDelivery(WebhookState())
    _ = try begin(&delivery, page(1, 3), at: 0)
    var now: Int64 = 0
    while now < 6 * WebhookDeliveryTests.hour {
      #expect(delivery.state.failure?.isPaused != true)
      _ = delivery.posted(answer(500), at: now, random: 1)
      guard case .wait(let next) = delivery.saved(at: now) else { throw CancellationError() }
      now = next
      _ = delivery.due(at: now)
    }
    _ = delivery.posted(answer(500), at: now, random: 1)
    #expect(delivery.state.failure?.isPaused == true)
    #expect(delivery.takeNotices() == [.failing("HTTP 500"), .paused("HTTP 500")])
    #expect(delivery.saved(at: now) == .wait(until: now + 900_000))
    now += 900_000
    _ = delivery.due(at: now)
    _ = delivery.posted(answer(500), at: now, random: 0)
    #expect(delivery.saved(at: now) == .wait(until: now + 900_000))
    #expect(delivery.takeNotices().isEmpty)
    now += 900_000
    _ = delivery.due(at: now)
    _ = delivery.posted(answer(200), at: now, random: 0)
    #expect(delivery.takeNotices() == [.resumed(after: now)])
    #expect(delivery.state.delivered == 3)
  }

  @Test func `410 parks at once`() throws {
    var delivery = WebhookDelivery(WebhookState())
    _ = try begin(&delivery, page(1, 1), at: 0)
    _ = delivery.posted(answer(410), at: 0, random: 0)
    #expect(delivery.state.failure?.isPaused == true)
    #expect(delivery.saved(at: 0) == .wait(until: 900_000))
  }

  @Test(arguments: [301, 302, 307, 308]) func `a redirect is a failure`(status: Int) throws {
    var delivery = WebhookDelivery(WebhookState())
    _ = try begin(&delivery, page(1, 1), at: 0)
    _ = delivery.posted(answer(status), at: 0, random: 0)
    #expect(delivery.state.failure?.answer == "HTTP \(status) (redirects are not followed)")
  }

  @Test func `another process sends the stored batch, with the same id and body`() throws {
    var first = WebhookDelivery(WebhookState())
    let batch = try begin(&first, page(1, 3), at: 0)
    let stored = try #require(WebhookState(json: first.state.json))
    var second = WebhookDelivery(stored)
    #expect(second.due(at: 0) == .read(after: "0-0", through: "1700000000000-3"))
    // Events that came meanwhile are not in it.
    #expect(second.read(page(1, 3, of: 9), at: 0) == .save)
    #expect(try posted(second.saved(at: 0)) == batch)
  }

  @Test func `another process waits as long as the one before would have`() throws {
    var first = WebhookDelivery(WebhookState())
    _ = try begin(&first, page(1, 3), at: 0)
    _ = first.posted(answer(503), at: 0, random: 1)
    var second = WebhookDelivery(try #require(WebhookState(json: first.state.json)))
    #expect(second.due(at: 100) == .wait(until: 5000))
  }

  @Test func `a stored attempt later than any that is planned does not hold the events back`() throws {
    var state = WebhookState()
    state.failure = .init(since: 0, attempts: 1, nextAttemptAt: Timestamp.maximum, answer: "", isPaused: false)
    var delivery = WebhookDelivery(state)
    #expect(delivery.due(at: 0) == .read(after: "0-0", through: nil))
    state.failure?.nextAttemptAt = Self.hour
    delivery = WebhookDelivery(state)
    #expect(delivery.due(at: 0) == .wait(until: Self.hour))
  }

  @Test(arguments: ["9223372036854775807", "-9223372036854775808", "1e308", "281474976710657"])
  func `numbers that nobody wrote break no state`(number: String) throws {
    let text =
      #"{"cursor":"0-0","position":N,"delivered":N,"lost":N,"gap":{"lost":N},"#
      + #""failure":{"since":1,"attempts":N,"nextAttemptAt":N,"answer":"","paused":false}}"#
    let state = try #require(WebhookState(json: Array(text.replacing("N", with: number).utf8)))
    var delivery = WebhookDelivery(state)
    _ = delivery.due(at: 0)
    delivery = WebhookDelivery(state)
    _ = try begin(&delivery, page(1, 3, deleted: 2), at: 0)
    _ = delivery.posted(answer(503), at: 0, random: 1)
    #expect(delivery.state.failure?.attempts == 2)
    delivery = WebhookDelivery(state)
    _ = try begin(&delivery, page(1, 3, deleted: 2), at: 0)
    _ = delivery.posted(answer(200), at: 0, random: 1)
    #expect(delivery.state.delivered == 3)
  }

  @Test func `events that were deleted before they were sent are counted and told once`() throws {
    var delivery = WebhookDelivery(WebhookState())
    _ = try begin(&delivery, page(1, 10), at: 0)
    _ = delivery.posted(answer(200), at: 0, random: 0)
    _ = delivery.saved(at: 0)
    let batch = try begin(&delivery, page(26, 30, deleted: 25), at: 1000)
    #expect(delivery.takeNotices() == [.lost(15)])
    let told = try JSONValue(parsing: batch.body)["data"]?["gap"]?["lost"]?.integer(in: NumberRange.counts)
    #expect(told == 15)
    _ = delivery.posted(answer(200), at: 1000, random: 0)
    _ = delivery.saved(at: 1000)
    let next = try begin(&delivery, page(31, 32, deleted: 25), at: 2000)
    #expect(try JSONValue(parsing: next.body)["data"]?["gap"] == nil)
    #expect(delivery.state.lost == 15)
  }

  @Test func `events that were deleted before the first batch are nobody's loss`() throws {
    var delivery = WebhookDelivery(WebhookState())
    _ = try begin(&delivery, page(26, 30, deleted: 25), at: 0)
    #expect(delivery.takeNotices().isEmpty)
  }

  @Test func `a stored batch of which events were deleted is replaced by what is left`() throws {
    var first = WebhookDelivery(WebhookState())
    _ = try begin(&first, page(1, 10), at: 0)
    var second = WebhookDelivery(try #require(WebhookState(json: first.state.json)))
    _ = second.due(at: 0)
    #expect(second.read(page(6, 10, deleted: 5), at: 0) == .read(after: "0-0", through: nil))
    #expect(second.read(page(6, 12, deleted: 5), at: 0) == .save)
    #expect(try posted(second.saved(at: 0)).count == 7)
    #expect(second.state.lost == 5)
  }

  @Test func `a Redis that cannot count tells of a loss without a number`() throws {
    var state = WebhookState()
    state.cursor = "1700000000000-1"
    var delivery = WebhookDelivery(state)
    _ = delivery.due(at: 0)
    var found = page(50, 60, deleted: 49)
    found.total = nil
    found.length = 100_000
    _ = delivery.read(found, at: 0)
    #expect(delivery.takeNotices() == [.lost(nil)])
    #expect(delivery.state.gap == .init(lost: nil))
  }

  @Test func `a stream that was deleted and begun again is sent from its beginning`() throws {
    var state = WebhookState()
    state.cursor = "1800000000000-7"
    state.position = 40
    var delivery = WebhookDelivery(state)
    _ = delivery.due(at: 0)
    #expect(delivery.read(page(1, 2), at: 0) == .reload)
    // Redis has the same state, so it is the stream that is another one.
    #expect(delivery.reloaded(state, at: 0) == .read(after: "1800000000000-7", through: nil))
    #expect(delivery.read(page(1, 2), at: 0) == .read(after: "0-0", through: nil))
    #expect(delivery.read(page(1, 2), at: 0) == .save)
    #expect(delivery.takeNotices() == [.restarted])
  }

  @Test func `a stream that was deleted is looked at every second`() throws {
    var state = WebhookState()
    state.cursor = "1700000000000-7"
    var delivery = WebhookDelivery(state)
    let empty = EventPage(entries: [], length: 0, firstID: nil, lastID: "0-0", total: nil)
    _ = delivery.due(at: 0)
    #expect(delivery.read(empty, at: 0) == .reload)
    _ = delivery.reloaded(state, at: 0)
    #expect(delivery.read(empty, at: 0) == .wait(until: 1000))
    #expect(delivery.takeNotices() == [.restarted])
    #expect(delivery.due(at: 1000) == .read(after: "0-0", through: nil))
    #expect(delivery.read(empty, at: 1000) == .wait(until: 2000))
  }

  @Test func `after a failover that lost events it continues where the new server knows it to be`() throws {
    var delivery = WebhookDelivery(WebhookState())
    _ = try begin(&delivery, page(1, 3), at: 0)
    _ = delivery.posted(answer(200), at: 0, random: 0)
    let survived = try #require(WebhookState(json: delivery.state.json))
    _ = delivery.saved(at: 0)
    _ = try begin(&delivery, page(4, 6), at: 1000)
    _ = delivery.posted(answer(200), at: 1000, random: 0)
    _ = delivery.saved(at: 1000)
    _ = delivery.due(at: 2000)
    // The new server has written an event under a number of those that are lost.
    #expect(delivery.read(page(7, 4), at: 2000) == .reload)
    #expect(delivery.reloaded(survived, at: 2000) == .read(after: "1700000000000-3", through: nil))
    #expect(delivery.takeNotices() == [.rewound])
    #expect(delivery.read(page(4, 4), at: 2000) == .save)
    #expect(try posted(delivery.saved(at: 2000)).id == "evt_1700000000000-4_1700000000000-4")
    #expect(delivery.takeNotices().isEmpty)
  }

  @Test func `a batch that the new server does not know is read again`() throws {
    var delivery = WebhookDelivery(WebhookState())
    _ = try begin(&delivery, page(1, 3), at: 0)
    // The answer comes after the failover, and the state is not written over the one that survived.
    _ = delivery.posted(answer(200), at: 0, random: 0)
    #expect(delivery.reloaded(WebhookState(), at: 0) == .read(after: "0-0", through: nil))
    #expect(delivery.read(page(1, 2), at: 0) == .save)
    #expect(delivery.state.batch == .init(first: "1700000000000-1", last: "1700000000000-2", count: 2))
  }

  @Test func `entries that are no events are skipped`() throws {
    var delivery = WebhookDelivery(WebhookState())
    var found = page(1, 4)
    let texts = [
      "", "no JSON", #"{"type":"x","at":"now","data":{}}"#, #"{"type":"job.dead","at":1,"data":{"id":"a"}}"#,
    ]
    found.entries = zip(found.entries, texts).map { .init(id: $0.id, event: Array($1.utf8)) }
    let batch = try begin(&delivery, found, at: 0)
    #expect(batch.count == 1)
    #expect(delivery.takeNotices() == [.skipped(3)])
  }

  @Test func `a page without a single event moves the cursor`() throws {
    var delivery = WebhookDelivery(WebhookState())
    var found = page(1, 2)
    found.entries = found.entries.map { .init(id: $0.id, event: []) }
    _ = delivery.due(at: 0)
    #expect(delivery.read(found, at: 0) == .save)
    #expect(delivery.state.cursor == "1700000000000-2")
    #expect(delivery.saved(at: 0) == .wait(until: 1000))
  }

  @Test func `a body has the form of the specification, and invalid UTF-8 is replaced`() throws {
    let bytes =
      Array(#"{"type":"token.removed","at":1700000000000,"data":{"user":"a"#.utf8) + [0xFF] + Array("\"}}".utf8)
    let batch = try #require(WebhookBatch([.init(id: "1700000000000-0", event: bytes)], gap: nil))
    #expect(
      String(decoding: batch.body, as: UTF8.self)
        == #"{"type":"events","timestamp":"2023-11-14T22:13:20.000Z","data":{"events":[{"id":"1700000000000-0","type":"token.removed","at":1700000000000,"data":{"user":"a\#u{FFFD}"}}]}}"#
    )
  }

  @Test(arguments: ["", "[]", "{}", #"{"cursor":"x"}"#, #"{"cursor":"1-2-3"}"#])
  func `a state that cannot be read is none`(text: String) {
    #expect(WebhookState(json: Array(text.utf8)) == nil)
  }
}
