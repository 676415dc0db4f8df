public import EventLoop
public import JSON
public import Redis

/// How far the webhook has come, and what is the matter with it: the value of ``EventStream/webhook``.
public struct WebhookState: Sendable, Equatable {
  /// The events of one request.
  public struct Batch: Sendable, Equatable {
    /// Ids of the stream.
    public var first: String
    public var last: String
    /// Entries of the stream from the first to the last.
    public var count: Int

    public init(first: String, last: String, count: Int) {
      self.first = first
      self.last = last
      self.count = count
    }
  }

  /// Events that were deleted from the stream before they were sent.
  public struct Gap: Sendable, Equatable {
    /// Nil if Redis cannot tell how many.
    public var lost: Int64?

    public init(lost: Int64?) { self.lost = lost }
  }

  /// The receiver does not accept events.
  public struct Failure: Sendable, Equatable {
    /// Unix milliseconds of the first attempt that failed.
    public var since: Int64
    public var attempts: Int
    /// Unix milliseconds.
    public var nextAttemptAt: Int64
    /// What the last attempt brought.
    public var answer: String
    /// Whether it is tried only now and then.
    public var isParked: Bool

    public init(since: Int64, attempts: Int, nextAttemptAt: Int64, answer: String, isParked: Bool) {
      self.since = since
      self.attempts = attempts
      self.nextAttemptAt = nextAttemptAt
      self.answer = answer
      self.isParked = isParked
    }
  }

  /// The id of the last event that the receiver has accepted.
  public var cursor = EventPage.beginning
  /// How many events had been written when that of the cursor was; nil if unknown.
  public var position: Int64?
  /// The batch that is being sent. Nil between batches.
  public var batch: Batch?
  /// What the receiver is told with the next batch.
  public var gap: Gap?
  /// Nil while the receiver accepts what it gets.
  public var failure: Failure?
  /// Events that the receiver has accepted.
  public var delivered: Int64 = 0
  /// Events that were deleted before they were sent, as far as Redis can tell.
  public var lost: Int64 = 0

  public init() {}
}

@EventLoop
extension WebhookState {
  /// Returns nil if nothing was ever sent to a webhook, or if its key holds another type.
  public static func read(from connection: RedisClient) async throws(RedisError) -> WebhookState? {
    do throws(RedisError) {
      let value = try await connection.send(RedisCommand("GET", EventStream.webhook))
      return value.contents.flatMap { WebhookState(json: $0) }
    } catch {
      guard error.isWrongType else { throw error }
      return nil
    }
  }
}

extension WebhookState {
  /// Returns nil if `bytes` is not a state.
  public init?(json bytes: [UInt8]) {
    guard let value = try? JSONValue(parsing: bytes), let cursor = value["cursor"]?.string,
      EventPage.parts(of: cursor) != nil
    else { return nil }
    self.cursor = cursor
    position = value["position"]?.count.map(Int64.init)
    delivered = Int64(value["delivered"]?.count ?? 0)
    lost = Int64(value["lost"]?.count ?? 0)
    if let batch = value["batch"], let first = batch["first"]?.string, let last = batch["last"]?.string,
      EventPage.parts(of: first) != nil, EventPage.parts(of: last) != nil
    {
      self.batch = Batch(first: first, last: last, count: batch["count"]?.count ?? 0)
    }
    if let gap = value["gap"] { self.gap = Gap(lost: gap["lost"]?.count.map(Int64.init)) }
    guard let failure = value["failure"], let since = failure["since"]?.time else { return }
    self.failure = Failure(
      since: since, attempts: failure["attempts"]?.count ?? 1,
      nextAttemptAt: failure["nextAttemptAt"]?.time ?? 0, answer: failure["answer"]?.string ?? "",
      isParked: failure["parked"]?.bool ?? false)
  }

  public var json: [UInt8] {
    var writer = JSONWriter(capacity: 256)
    write(to: &writer)
    return writer.bytes
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("cursor")
    writer.string(cursor)
    if let position {
      writer.key("position")
      writer.integer(position)
    }
    writer.key("delivered")
    writer.integer(delivered)
    writer.key("lost")
    writer.integer(lost)
    if let batch { write(batch, to: &writer) }
    if let gap {
      writer.key("gap")
      gap.write(to: &writer)
    }
    if let failure { write(failure, to: &writer) }
    writer.endObject()
  }

  private func write(_ batch: Batch, to writer: inout JSONWriter) {
    writer.key("batch")
    writer.beginObject()
    writer.key("first")
    writer.string(batch.first)
    writer.key("last")
    writer.string(batch.last)
    writer.key("count")
    writer.integer(batch.count)
    writer.endObject()
  }

  private func write(_ failure: Failure, to writer: inout JSONWriter) {
    writer.key("failure")
    writer.beginObject()
    writer.key("since")
    writer.integer(failure.since)
    writer.key("attempts")
    writer.integer(failure.attempts)
    writer.key("nextAttemptAt")
    writer.integer(failure.nextAttemptAt)
    writer.key("answer")
    writer.string(failure.answer)
    writer.key("parked")
    writer.bool(failure.isParked)
    writer.endObject()
  }
}

extension WebhookState.Gap {
  /// `{"lost":12}`, or null if unknown.
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("lost")
    if let lost { writer.integer(lost) } else { writer.null() }
    writer.endObject()
  }
}

extension WebhookState {
  /// What an operator should do about a webhook that is parked.
  public static let fix =
    "see why the receiver at MARTLET_WEBHOOK_URL does not answer with 2xx; martlet continues by itself"
}
