import APNs
import EventLoop
import Jobs
import PushModel
import Queue
import Registry
import Telemetry
import Worker

/// Records the attempts at jobs whose traces are recorded.
@EventLoop
final class Tracer: AttemptRecorder {
  private let ratio: Double
  private let queues: [String]
  private let exporter: SpanExporter

  init(_ configuration: TracingConfiguration, queues: [String], exporter: SpanExporter) {
    ratio = configuration.ratio
    self.queues = queues
    self.exporter = exporter
  }

  func begin(_ delivery: Delivery) -> (any AttemptRecord)? {
    let trace = Tracer.trace(
      of: delivery.job.trace, jobID: delivery.id, ratio: ratio,
      claimedAt: Tracer.nanoseconds(delivery.claim.claimedAt))
    return trace.map { TracedAttempt(trace: $0, tracer: self) }
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
  fileprivate func end(_ trace: JobTrace, of delivery: Delivery) {
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

/// An attempt whose trace is recorded.
@EventLoop
private final class TracedAttempt: AttemptRecord {
  private let trace: JobTrace
  private let tracer: Tracer

  init(trace: JobTrace, tracer: Tracer) {
    self.trace = trace
    self.tracer = tracer
  }

  func resolved() { trace.resolved() }

  func answered(_ draft: PushDraft, _ sent: SendOutcome) {
    trace.ended(
      JobTrace.Push(
        start: draft.sentAt, end: Clock.unixNanoseconds, status: sent.status, reason: sent.reason,
        apnsID: draft.apnsID, token: Log.shortened(draft.token), topic: draft.content.appTopic,
        environment: draft.content.environment.rawValue))
  }

  func ended(_ delivery: Delivery) { tracer.end(trace, of: delivery) }
}
