import EventLoop
import Operations
import Jobs
import Queue
import Redis

/// What the pages know of a queue.
struct QueueState: Sendable {
  var overview: QueueOverview
  /// Since when the oldest job waits, unix ms; nil if no job waits, or if that is not known.
  var waitingSince: Int64?

  /// Nil unless the queue is paused.
  var pause: QueuePause? { overview.pause }

  /// Milliseconds that the oldest job waits; nil if that is not known.
  func age(now: Int64) -> Int64? { waitingSince.map { max(0, now - $0) } }

  /// Reads the states of queues, in their order.
  @EventLoop
  static func read(_ queues: [String], from connection: RedisClient) async throws(RedisError) -> [QueueState] {
    var states: [QueueState] = []
    for overview in try await QueueOverview.read(queues, from: connection) {
      let since = try await waitingSince(QueueKeys(queue: overview.queue), from: connection)
      states.append(QueueState(overview: overview, waitingSince: since))
    }
    return states
  }

  /// A job that the fleet put back says nothing about the queue. A key of another type counts as empty, as in ``QueueOverview``.
  @EventLoop
  private static func waitingSince(_ keys: QueueKeys, from connection: RedisClient) async throws(RedisError) -> Int64? {
    do {
      let reply = try await connection.send(
        QueueScripts.oldest(queue: keys.queue, seal: keys.seal, limit: Job.maximumBytes))
      return reply.bytes.flatMap { (try? Job(stored: $0))?.waitingSince(now: Clock.unixMilliseconds) }
    } catch  where error.isWrongType {
      return nil
    }
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
          html.text("by \(pause.author) ")
          html.time(pause.since, now: now)
          if !pause.reason.isEmpty { html.text(": \(pause.reason)") }
        }
      }
    }
  }

  func ageCell(now: Int64) -> Cell {
    if overview.waiting == 0 { return .text("–") }
    return age(now: now).map { .text(TimeText.duration($0)) } ?? .quiet("not known")
  }
}

extension QueuePause {
  var author: String { by.isEmpty ? "an operator" : by }
}
