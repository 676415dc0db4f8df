import Crypto
import EventLoop
import Events
import HTTPClient
import Redis
import Telemetry

/// Sends events to the webhook while this process holds the lease; carries out what ``WebhookDelivery`` decides.
///
/// Nothing else waits for it: requests run on a separate queue, and events wait in the stream.
@EventLoop
final class WebhookSender: Service {
  /// After an error of Redis.
  private static let pause = Duration.seconds(1)

  private let configuration: WebhookConfiguration
  private let connection: RedisClient
  private let lease: WebhookLease
  private let metrics: WebhookMetrics
  private let log: Log
  private let client = HTTPClient(label: "martlet.webhook")
  /// Nil unless this process holds the lease.
  private var delivery: WebhookDelivery?
  /// The state that Redis has, as far as this process knows: JSON.
  private var stored: [UInt8] = []
  /// Changes when the lease is lost: what was begun before is ignored.
  private var term = 0
  private var renewal: LoopTimer?
  private var timer: LoopTimer?
  private var isStopped = false

  init(_ configuration: WebhookConfiguration, connection: RedisClient, metrics: WebhookMetrics, log: Log) {
    self.configuration = configuration
    self.connection = connection
    self.metrics = metrics
    self.log = log
    lease = WebhookLease(connection: connection, holder: Secret.random())
    metrics.lag = { [weak self] in self?.lag ?? 0 }
    metrics.isPaused = { [weak self] in self?.delivery?.state.failure?.isPaused ?? false }
  }

  func start() {
    log.info("events are sent to the webhook", ["url": .init(configuration.origin)])
    renewal = .every(WebhookLease.renewal) { [weak self] in self?.renew() }
    timer = .after(WebhookSender.pause) { [weak self] in self?.renew() }
  }

  /// Stops sending. Another worker continues, and repeats a request that is not answered.
  func stop() {
    isStopped = true
    renewal = nil
    let hadLease = delivery != nil
    end()
    if hadLease { lease.release() }
  }

  private var lag: Int {
    guard let first = delivery?.state.batch?.first, let id = StreamID(parsing: first) else { return 0 }
    return Int(max(0, Clock.unixMilliseconds - Int64(clamping: id.milliseconds)) / 1000)
  }

  // MARK: - Lease

  private func renew() {
    guard connection.isReady else { return }
    lease.renew { [weak self] result in
      guard let self, !isStopped else { return }
      switch result {
      case .success(let state?): if delivery == nil { begin(with: state) }
      case .success(nil): end()
      // Whether the lease is held is asked again with the next change of the state.
      case .failure: break
      }
    }
  }

  private func begin(with json: [UInt8]) {
    let state = take(json)
    log.debug("this worker sends events to the webhook", ["cursor": .init(state.cursor)])
    delivery = WebhookDelivery(state)
    next { $0.due(at: Clock.unixMilliseconds) }
  }

  private func take(_ json: [UInt8]) -> WebhookState {
    stored = json
    return WebhookState(json: json) ?? WebhookState()
  }

  private func end() {
    delivery = nil
    timer = nil
    term += 1
  }

  // MARK: - Actions

  private func next(_ decide: (inout WebhookDelivery) -> WebhookDelivery.Action) {
    guard var current = delivery else { return }
    let action = decide(&current)
    let notices = current.takeNotices()
    delivery = current
    for notice in notices { report(notice) }
    carryOut(action)
  }

  private func carryOut(_ action: WebhookDelivery.Action) {
    switch action {
    case .wait(let time): wait(until: time)
    case .read(let cursor, let last): read(action, after: cursor, through: last)
    case .reload: reload(action)
    case .save: save(action)
    case .post(let batch): post(batch)
    }
  }

  private func wait(until time: Int64) {
    let delay = Duration.milliseconds(max(0, time - Clock.unixMilliseconds))
    timer = .after(delay) { [weak self] in self?.next { $0.due(at: Clock.unixMilliseconds) } }
  }

  private func read(_ action: WebhookDelivery.Action, after cursor: String, through last: String?) {
    let begun = term
    EventPage.read(after: cursor, through: last, from: connection) { [weak self] result in
      guard let self, term == begun else { return }
      switch result {
      case .success(let page): next { $0.read(page, at: Clock.unixMilliseconds) }
      case .failure(let error): retry(action, after: error)
      }
    }
  }

  private func reload(_ action: WebhookDelivery.Action) {
    let begun = term
    lease.renew { [weak self] result in
      guard let self, term == begun else { return }
      switch result {
      case .success(let json?): next { $0.reloaded(self.take(json), at: Clock.unixMilliseconds) }
      case .success(nil): end()
      case .failure(let error): retry(action, after: error)
      }
    }
  }

  private func save(_ action: WebhookDelivery.Action) {
    guard let delivery else { return }
    let begun = term
    let state = delivery.state.json
    lease.save(state, over: stored) { [weak self] result in
      guard let self, term == begun else { return }
      switch result {
      case .success(.saved):
        stored = state
        next { $0.saved(at: Clock.unixMilliseconds) }
      case .success(.isAnothers): end()
      case .success(.isOutdated): reload(.reload)
      case .failure(let error): retry(action, after: error)
      }
    }
  }

  private func retry(_ action: WebhookDelivery.Action, after error: RedisError) {
    log.debug("the webhook waits for Redis", ["error": .init("\(error)")])
    timer = .after(WebhookSender.pause) { [weak self] in self?.carryOut(action) }
  }

  private func post(_ batch: WebhookBatch) {
    let begun = term
    let timestamp = Clock.unixMilliseconds / 1000
    let signature = configuration.secret.signature(id: batch.id, timestamp: timestamp, body: batch.body)
    let headers = [
      ("content-type", "application/json"), ("user-agent", "martlet"), ("webhook-id", batch.id),
      ("webhook-timestamp", String(timestamp)), ("webhook-signature", signature),
    ].map { (name: $0.0, value: $0.1) }
    let call = HTTPCall(url: configuration.url, headers: headers, body: batch.body)
    EventLoop.start { [self, client] in
      let answer: WebhookAnswer
      do throws(HTTPClientError) {
        answer = WebhookAnswer(try await client.send(call))
      } catch {
        answer = WebhookAnswer(error)
      }
      guard term == begun else { return }
      answered(answer, batch)
    }
  }

  private func answered(_ answer: WebhookAnswer, _ batch: WebhookBatch) {
    if answer.kind == .accepted {
      metrics.delivered.increment(by: batch.count)
    } else {
      metrics.failures.increment()
      log.debug("the webhook did not accept events", ["answer": .init(answer.text), "id": .init(batch.id)])
    }
    next { $0.posted(answer, at: Clock.unixMilliseconds, random: .random(in: 0..<1)) }
  }

  // MARK: - Log

  private func report(_ notice: WebhookDelivery.Notice) {
    let url = Log.Field(configuration.origin)
    switch notice {
    case .failing(let answer):
      // Operator: See `answer`. Nothing, unless it lasts.
      log.warn("the webhook does not accept events; they are sent again", ["url": url, "answer": .init(answer)])
    case .paused(let answer):
      // Operator: Follow `fix`. `answer` is what the receiver said. `the webhook accepts events again` ends it.
      log.error(
        "the webhook is paused: it is tried every 15 minutes, and events wait in push:events",
        ["url": url, "answer": .init(answer), "fix": .init(WebhookState.fix)])
    case .resumed(let time):
      log.info("the webhook accepts events again", ["url": url, "seconds": .init(time / 1000)])
    case .lost(let count):
      metrics.lost.increment(by: Int(clamping: count ?? 0))
      // Operator: The receiver has not got them: let it read the devices anew.
      log.error(
        "events were deleted from push:events before the webhook accepted them",
        ["url": url, "events": count.map { .init($0) } ?? "unknown"])
    case .rewound:
      // Operator: After a failover or a restart of Redis. Events of the last moments may be sent twice, and some
      // may be lost with the changes that they told about: [Durability](operations.md#durability).
      log.warn(
        "Redis has lost its latest changes: the webhook continues where Redis knows it to be", ["url": url])
    case .restarted:
      // Operator: Find who has deleted it. Events that were not sent are lost: let the receiver read the devices
      // anew.
      log.warn("push:events was deleted: the webhook sends it from its new beginning", ["url": url])
    case .skipped(let count):
      // Operator: Find what else writes to `push:events`.
      log.warn("entries of push:events that are not events were skipped", ["entries": .init(count)])
    }
  }
}
