import EventLoop
import Events
import JSON
import Redis

/// The position and the last error of the webhook: the value of ``WebhookKeys/state``.
struct WebhookState: Sendable, Equatable {
  /// The events of one request.
  struct Batch: Sendable, Equatable {
    /// Ids of the stream.
    var first: String
    var last: String
    /// Entries of the stream from the first to the last.
    var count: Int

    init(first: String, last: String, count: Int) {
      self.first = first
      self.last = last
      self.count = count
    }
  }

  /// Events that were deleted from the stream before they were sent.
  struct Gap: Sendable, Equatable {
    /// Nil if Redis cannot tell how many.
    var lost: Int64?

    init(lost: Int64?) { self.lost = lost }
  }

  /// The receiver does not accept events.
  struct Failure: Sendable, Equatable {
    /// Unix milliseconds of the first attempt that failed.
    var since: Int64
    var attempts: Int
    /// Unix milliseconds.
    var nextAttemptAt: Int64
    /// The result of the last attempt.
    var answer: String
    /// Whether attempts are made only at long intervals.
    var isPaused: Bool

    init(since: Int64, attempts: Int, nextAttemptAt: Int64, answer: String, isPaused: Bool) {
      self.since = since
      self.attempts = attempts
      self.nextAttemptAt = nextAttemptAt
      self.answer = answer
      self.isPaused = isPaused
    }
  }

  /// The id of the last event that the receiver has accepted.
  var cursor = EventPage.beginning
  /// How many events had been written up to that of the cursor; nil if unknown.
  var position: Int64?
  /// The batch that is being sent. Nil between batches.
  var batch: Batch?
  /// What the receiver is told with the next batch.
  var gap: Gap?
  /// Nil while the receiver accepts what it gets.
  var failure: Failure?
  /// Events that the receiver has accepted.
  var delivered: Int64 = 0
  /// Events that were deleted before they were sent, as far as Redis can tell.
  var lost: Int64 = 0

  init() {}
}

@EventLoop
extension WebhookState {
  /// Returns nil if nothing was ever sent to a webhook, or if its key holds another type.
  static func read(from connection: RedisClient) async throws(RedisError) -> WebhookState? {
    do throws(RedisError) {
      let value = try await connection.send(RedisCommand("GET", WebhookKeys.state))
      return value.contents.flatMap { WebhookState(json: $0) }
    } catch {
      guard error.isWrongType else { throw error }
      return nil
    }
  }
}

extension WebhookState {
  /// Returns nil if `bytes` is not a state.
  init?(json bytes: [UInt8]) {
    guard let value = try? JSONValue(parsing: bytes), let cursor = value["cursor"]?.string,
      StreamID(parsing: cursor) != nil
    else { return nil }
    self.cursor = cursor
    position = value["position"]?.count.map(Int64.init)
    delivered = Int64(value["delivered"]?.count ?? 0)
    lost = Int64(value["lost"]?.count ?? 0)
    if let batch = value["batch"], let first = batch["first"]?.string, let last = batch["last"]?.string,
      StreamID(parsing: first) != nil, StreamID(parsing: last) != nil
    {
      self.batch = Batch(first: first, last: last, count: batch["count"]?.count ?? 0)
    }
    if let gap = value["gap"] { self.gap = Gap(lost: gap["lost"]?.count.map(Int64.init)) }
    guard let failure = value["failure"], let since = failure["since"]?.time else { return }
    self.failure = Failure(
      since: since, attempts: failure["attempts"]?.count ?? 1,
      nextAttemptAt: failure["nextAttemptAt"]?.time ?? 0, answer: failure["answer"]?.string ?? "",
      isPaused: failure["paused"]?.bool ?? false)
  }

  var json: [UInt8] { object.bytes }

  var object: JSONObject {
    [
      "cursor": cursor, "position": position, "delivered": delivered, "lost": lost,
      "batch": batch.map { ["first": $0.first, "last": $0.last, "count": $0.count] as JSONObject }, "gap": gap?.object,
      "failure": failure.map {
        [
          "since": $0.since, "attempts": $0.attempts, "nextAttemptAt": $0.nextAttemptAt, "answer": $0.answer,
          "paused": $0.isPaused,
        ] as JSONObject
      },
    ]
  }
}

extension WebhookState.Gap {
  /// `{"lost":12}`, or null if unknown.
  var object: JSONObject { ["lost": lost.map(JSONValue.integer) ?? .null] }
}

extension WebhookState {
  /// What an operator should do about a webhook that is paused.
  static let fix =
    "see why the receiver at MARTLET_WEBHOOK_URL does not answer with 2xx; martlet continues by itself"
}
