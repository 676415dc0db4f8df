public import EventLoop
public import Redis
public import Telemetry

/// Writes events to ``EventStream``, and counts those that scripts have written there.
///
/// What Redis refuses is lost, with a warning and a counter: nothing fails because of an event.
@EventLoop
public final class EventLog {
  /// Events that wait for Redis. The oldest are dropped.
  private static let maximumWaiting = 1000
  private static let maximumBatch = 100
  private static let pause = Duration.seconds(1)

  let connection: RedisClient
  private let metrics: EventMetrics
  private let refusals: ThrottledWarning<String>
  private var waiting: [Event] = []
  private var isSending = false
  private var timer: LoopTimer?

  public init(connection: RedisClient, metrics: EventMetrics, log: Log) {
    self.connection = connection
    self.metrics = metrics
    refusals = ThrottledWarning { count, error in
      // Operator: See `key` and `error`: a key of another type, or a user of Redis without the right.
      log.warn(
        "events were lost because Redis refused them",
        ["key": .init(EventStream.key), "events": .init(count), "error": .init(error)])
    }
  }

  /// Writes events that no script has written, in their order. They wait in memory while Redis is out of reach.
  public func append(_ events: [Event]) {
    guard !events.isEmpty else { return }
    if waiting.isEmpty { EventLoop.atEndOfTurn { [weak self] in self?.flush() } }
    waiting += events
    let surplus = waiting.count - EventLog.maximumWaiting
    guard surplus > 0 else { return }
    waiting.removeFirst(surplus)
    refuse(surplus, "Redis is out of reach and too many events wait")
  }

  /// Writes events now, also if Redis is full. Passes an error if they must be written again; what Redis refuses is not.
  public func write(_ events: [Event], _ completion: @escaping @EventLoop (Result<Void, RedisError>) -> Void) {
    var call = EventScripts.appendAll(stream: EventStream.key, events: RedisList())
    for event in events { call.append(event.json) }
    connection.send(call) { [self] result in
      switch result {
      case .success: countWritten(events.map(\.type))
      case .failure(let error):
        guard error.isRefusal else { return completion(.failure(error)) }
        refuse(events.count, "\(error)")
      }
      completion(.success(()))
    }
  }

  private func flush() {
    guard !isSending, !waiting.isEmpty else { return }
    guard connection.isReady else { return retryLater() }
    let batch = Array(waiting.prefix(EventLog.maximumBatch))
    waiting.removeFirst(batch.count)
    isSending = true
    EventLoop.gather(batch) { event, end in
      connection.send(EventStream.append(event)) { [self] in end(take($0, event)) }
    } completion: { [self] areUnsent in
      isSending = false
      let unsent = zip(batch, areUnsent).filter(\.1).map(\.0)
      waiting = unsent + waiting
      if unsent.isEmpty { flush() } else { retryLater() }
    }
  }

  /// Returns whether the event is to be sent again.
  private func take(_ result: Result<RedisValue, RedisError>, _ event: Event) -> Bool {
    switch result {
    case .success: metrics.countWritten(event.type)
    case .failure(.reply(let error)) where error.code == "OOM": return true
    case .failure(let error):
      guard error.isRefusal else { return true }
      refuse(1, "\(error)")
    }
    return false
  }

  private func retryLater() {
    guard timer == nil else { return }
    timer = .after(EventLog.pause) { [weak self] in
      self?.timer = nil
      self?.flush()
    }
  }

  // MARK: - Events of scripts

  /// Counts the events that a script has written with its change.
  public func countWritten(_ types: [EventType]) {
    for type in types { metrics.countWritten(type) }
  }

  /// Counts and logs events that Redis refused.
  public func refuse(_ count: Int, _ error: String) {
    metrics.refused.increment(by: count)
    refusals.warn(error, count: count)
  }
}
