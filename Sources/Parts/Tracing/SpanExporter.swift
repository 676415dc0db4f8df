import EventLoop
import HTTPClient
import Telemetry

/// Sends spans to a collector in batches, one request at a time. What a slow collector does not take is dropped and counted;
/// nothing waits for it.
@EventLoop
final class SpanExporter {
  /// How long a span waits for others.
  static let interval = Duration.seconds(5)
  private static let timeout = Duration.seconds(10)
  /// After a failed request, times two after each further one.
  private static let backoff = Backoff(base: .seconds(2), cap: .seconds(60))

  private let configuration: TracingConfiguration
  private let encoder: SpanEncoder
  private let client = HTTPClient(label: "martlet.traces")
  private let log: Log
  private let metrics: SpanMetrics
  private var buffer = SpanBuffer()
  private var isSending = false
  private var failures = 0
  /// Until spans are sent next; nil if none wait.
  private var timer: LoopTimer?
  /// Set while the process ends: called when nothing is left, or the time is over.
  private var onFlushed: (@EventLoop () -> Void)?
  private var deadline: LoopTimer?
  /// On CLOCK_MONOTONIC, nanoseconds.
  private var flushUntil: UInt64 = 0

  init(_ configuration: TracingConfiguration, instance: String, metrics: SpanMetrics, log: Log) {
    self.configuration = configuration
    encoder = SpanEncoder(
      serviceName: configuration.serviceName, version: configuration.serviceVersion, instance: instance)
    self.metrics = metrics
    self.log = log
  }

  func add(_ spans: [Span]) {
    changeBuffer { $0.append(spans) }
    if timer == nil { schedule(after: SpanExporter.interval) }
    if buffer.isBatchFull, failures == 0 { send() }
  }

  /// Sends what waits, for at most `limit`.
  func flush(within limit: Duration) async {
    await withCheckedContinuation { continuation in
      onFlushed = { continuation.resume() }
      flushUntil = Clock.monotonicNanoseconds + limit.unsignedNanoseconds
      deadline = .after(limit) { [weak self] in self?.abandon() }
      send()
      endIfFlushed()
    }
  }

  /// Ends ``flush(within:)`` now.
  func abandon() {
    deadline = nil
    let onFlushed = onFlushed
    self.onFlushed = nil
    onFlushed?()
  }

  // MARK: - Sending

  private func schedule(after delay: Duration) {
    timer = .after(delay) { [weak self] in
      self?.timer = nil
      self?.send()
    }
  }

  private func send() {
    guard !isSending, !buffer.isEmpty else { return }
    isSending = true
    timer = nil
    let batch = buffer.takeBatch()
    var call = HTTPCall(url: configuration.url)
    call.headers = [("Content-Type", "application/json")] + configuration.headers.map { ($0.name, $0.value) }
    call.timeout = timeout
    EventLoop.start { [self, encoder, client] in
      call.body = encoder.json(batch)
      do throws(HTTPClientError) {
        sent(batch, ExportResult(status: try await client.send(call).status))
      } catch {
        sent(batch, ExportResult(error))
      }
    }
  }

  private var timeout: Duration {
    guard onFlushed != nil else { return SpanExporter.timeout }
    let left = flushUntil - min(flushUntil, Clock.monotonicNanoseconds)
    return max(.milliseconds(1), min(SpanExporter.timeout, .nanoseconds(Int64(clamping: left))))
  }

  private func sent(_ batch: [Span], _ result: ExportResult) {
    isSending = false
    switch result {
    case .accepted:
      metrics.exported.increment(by: batch.count)
      if failures > 0 { log.info("the collector of traces accepts spans again") }
      failures = 0
    case .retry(let reason, let fix):
      changeBuffer { $0.putBack(batch) }
      failed(reason, fix)
    case .refused(let reason, let fix):
      changeBuffer { $0.drop(batch.count) }
      failed(reason, fix)
    }
    sendNext()
  }

  private func failed(_ reason: String, _ fix: String) {
    if failures == 0 {
      // Operator: See `error`, `fix`, and the collector at `url`. Pushes are not affected. `the collector of
      // traces accepts spans again` ends it.
      log.warn(
        "the collector of traces does not accept spans; those that do not fit are dropped",
        ["url": .init(configuration.origin), "error": .init(reason), "fix": .init(fix)])
    }
    failures += 1
  }

  private func sendNext() {
    endIfFlushed()
    guard !buffer.isEmpty else { return }
    if failures > 0 {
      let bound = SpanExporter.backoff.delay(attempt: failures, random: 1)
      schedule(after: bound / 2 + bound / 2 * Double.random(in: 0...1))
    } else if buffer.isBatchFull || onFlushed != nil {
      send()
    } else if timer == nil {
      schedule(after: SpanExporter.interval)
    }
  }

  /// While the process ends, a request that failed is not repeated.
  private func endIfFlushed() {
    if onFlushed != nil, !isSending, buffer.isEmpty || failures > 0 { abandon() }
  }

  private func changeBuffer(_ change: (inout SpanBuffer) -> Void) {
    let before = buffer.dropped
    change(&buffer)
    metrics.dropped.increment(by: buffer.dropped - before)
  }
}

/// The counters of spans. Without a collector both stay 0.
@EventLoop
struct SpanMetrics {
  let exported: Counter
  let dropped: Counter

  init(_ metrics: Metrics) {
    let family = metrics.counters(
      "martlet_spans_total", label: "outcome",
      help: """
        [spans](#tracing) that the collector accepted (`exported`), and those that were `dropped` because it \
        refused them or did not take them in time
        """,
      worry: "`dropped` grows: see the log")
    exported = family["exported"]
    dropped = family["dropped"]
  }
}
