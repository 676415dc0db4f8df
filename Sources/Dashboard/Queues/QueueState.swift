import EventLoop
import Operations
import Jobs
import Queue
import Redis

/// What the pages know of a queue.
struct QueueState: Sendable {
  var overview: QueueOverview
  var oldest: OldestWaiting

  /// Nil unless the queue is paused.
  var pause: QueuePause? { overview.pause }

  /// Milliseconds that the oldest job waits; nil if that is not known.
  func age(now: Int64) -> Int64? {
    guard case .job(let since?) = oldest else { return nil }
    return max(0, now - since)
  }

  /// Reads the states of queues, in their order.
  @EventLoop
  static func read(_ queues: [String], from connection: RedisClient) async throws(RedisError) -> [QueueState] {
    var states: [QueueState] = []
    for overview in try await QueueOverview.read(queues, from: connection) {
      states.append(QueueState(overview: overview, oldest: try await oldest(overview.queue, from: connection)))
    }
    return states
  }

  /// A key of another type counts as empty, as in ``QueueOverview``.
  @EventLoop
  private static func oldest(_ queue: String, from connection: RedisClient) async throws(RedisError) -> OldestWaiting {
    do {
      return try await OldestWaiting.read(queue, from: connection, waitingSince: waitingSince)
    } catch  where error.isWrongType {
      return .none
    }
  }

  /// Returns when a job was enqueued, if its producer says so.
  private static func waitingSince(_ job: [UInt8]) -> Int64? {
    (try? Job(parsing: job))?.waitingSince(now: Clock.unixMilliseconds)
  }
}

extension QueueState {
  /// Whether the queue is paused, by whom, since when and why.
  func badge(now: Int64) -> Cell {
    guard let pause else { return .badge("running", .good) }
    return .content { html in
      html.element("span") { html in
        html.badge("paused", .warn)
        html.text(" ")
        html.element("span", ["class": "quiet"]) { html in
          html.text("by \(pause.by.isEmpty ? "an operator" : pause.by) ")
          html.time(pause.since, now: now)
          if !pause.reason.isEmpty { html.text(": \(pause.reason)") }
        }
      }
    }
  }

  func ageCell(now: Int64) -> Cell {
    if overview.waiting == 0 { return .text("–") }
    return age(now: now).map { .text(TimeText.duration($0)) }
      ?? .content { $0.element("span", ["class": "quiet"], "not known") }
  }
}
