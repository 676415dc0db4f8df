import APNs
import EventLoop
import Jobs
import PushModel
import Queue
import Registry
import Telemetry

/// Records the jobs whose traces are recorded.
@EventLoop
final class Tracer {
  private let ratio: Double
  private let queues: [String]
  private let exporter: SpanExporter

  init(_ configuration: TracingConfiguration, queues: [String], exporter: SpanExporter) {
    ratio = configuration.ratio
    self.queues = queues
    self.exporter = exporter
  }

  /// Begins the recording of an attempt, if the job's trace is recorded.
  func begin(_ delivery: Delivery) {
    delivery.trace = Tracer.trace(
      of: delivery.job.trace, jobID: delivery.id, ratio: ratio,
      claimedAt: Tracer.nanoseconds(delivery.claim.claimedAt))
  }

  /// A trace of the producer is recorded if it says so; `ratio` is the share of the jobs without one.
  static func trace(of parent: TraceParent?, jobID: String, ratio: Double, claimedAt: UInt64) -> JobTrace? {
    if let parent {
      guard parent.isSampled else { return nil }
      return JobTrace(traceID: parent.traceID, parentID: parent.parentID, claimedAt: claimedAt)
    }
    guard ratio > 0 else { return nil }
    let (id, share) = TraceID.derived(jobID: jobID)
    return share < ratio ? JobTrace(traceID: id, parentID: nil, claimedAt: claimedAt) : nil
  }

  /// Hands the spans of an attempt to the exporter.
  func end(_ trace: JobTrace, of delivery: Delivery) {
    let waitingSince = delivery.isFirstAttempt ? delivery.job.waitingSince(now: delivery.claim.claimedAt) : nil
    let facts = TracedJob(
      id: delivery.id, queue: queues[delivery.claim.queueIndex], app: delivery.job.app ?? delivery.broadcastApp,
      result: delivery.tally.result, waitingSince: waitingSince)
    exporter.add(trace.spans(facts, end: Clock.unixNanoseconds))
  }

  /// Unix milliseconds in unix nanoseconds, which end in the year 2262.
  static func nanoseconds(_ milliseconds: Int64) -> UInt64 {
    UInt64(min(max(0, milliseconds), .max / 1_000_000)) * 1_000_000
  }

  func flush(within limit: Duration) async { await exporter.flush(within: limit) }

  func abandon() { exporter.abandon() }
}

extension Delivery {
  /// The app whose audience the job is for.
  var broadcastApp: String? {
    if case .app(let app) = job.addressee { app } else { nil }
  }
}

extension PushDraft {
  /// Notes when the push is sent, if the trace of its job is recorded.
  func noteSending() {
    if delivery.trace != nil { tracedAt = Clock.unixNanoseconds }
  }

  /// Adds the push to the trace of its job, if that is recorded.
  func noteAnswer(_ sent: SendOutcome) {
    guard let trace = delivery.trace else { return }
    trace.ended(
      JobTrace.Push(
        start: tracedAt, end: Clock.unixNanoseconds, status: sent.status, reason: sent.reason, apnsID: apnsID,
        token: Log.shortened(token), topic: content.appTopic, environment: content.environment.rawValue))
  }
}
