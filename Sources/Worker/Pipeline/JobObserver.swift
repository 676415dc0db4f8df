import APNs
import EventLoop
import Jobs
import Queue
import Registry
import Telemetry

/// What watches the life of a job: metrics, counters, traces, histories and notes of refusals. The path reports each step here and
/// does not depend on it.
@EventLoop
final class JobObserver {
  private let metrics: PipelineMetrics
  private let counters: FleetCounters
  /// Nil unless attempts are recorded.
  private let recorder: (any AttemptRecorder)?
  private let refusals: RefusalNotes
  private let log: Log

  init(
    metrics: PipelineMetrics, counters: FleetCounters, recorder: (any AttemptRecorder)?, refusals: RefusalNotes,
    log: Log
  ) {
    self.metrics = metrics
    self.counters = counters
    self.recorder = recorder
    self.refusals = refusals
    self.log = log
  }

  /// Attempts that have ended, and jobs that were refused.
  var jobCount: UInt64 { metrics.jobCount }

  // MARK: - Jobs

  /// The claims are of one queue.
  func claimed(_ claims: [Claim]) {
    if let first = claims.first { counters.claimed(claims.count, queueIndex: first.queueIndex) }
  }

  func began(_ delivery: Delivery) {
    metrics.began(delivery)
    if let recorder { delivery.record = recorder.begin(delivery) }
  }

  /// `removals`: entries of the addressee's set that are not its devices.
  func resolved(_ delivery: Delivery, devices: Int, _ removals: [Removal]) {
    delivery.addRemovals(removals, found: devices)
    delivery.record?.resolved()
  }

  /// The addressee was found outside the registry, as the event tells.
  func resolved(_ delivery: Delivery, _ event: HistoryEvent) {
    delivery.add(event)
    delivery.record?.resolved()
  }

  /// APNs answers slowly for the app of the job.
  func postpone(ofApp app: String) { metrics.postpone(ofApp: app) }

  /// An attempt has ended with this outcome, which is in its result. Adds its history to the result. `now` is Unix ms.
  func ended(_ delivery: Delivery, _ outcome: JobOutcome, at now: Int64) {
    metrics.finished(delivery.claim, outcome.status)
    delivery.recordHistory(outcome, at: now)
    delivery.record?.ended(delivery)
    let since = outcome.status.isFinal ? delivery.job.waitingSince(now: now) : nil
    counters.ended(outcome.status, latency: since.map { now - $0 })
  }

  /// An attempt has ended whose job belongs to another worker.
  func endedFenced(_ delivery: Delivery, _ outcome: JobOutcome) { metrics.finished(delivery.claim, outcome.status) }

  /// A claimed element is not a valid job.
  func refused(_ claim: Claim, because reason: String) {
    metrics.finished(claim, .dead)
    counters.ended(.dead)
    log.debug("refused a job", ["reason": .init(reason)])
  }

  /// Redis buried a job for its size before it was claimed.
  func refusedOversized() {
    metrics.refused()
    counters.ended(.dead)
  }

  // MARK: - Pushes

  func sending(_ draft: PushDraft) {
    if draft.delivery.record != nil { draft.sentAt = Clock.unixNanoseconds }
  }

  /// APNs has answered the push, or will not.
  func answered(_ sent: SendOutcome, _ outcome: PushOutcome, _ draft: PushDraft) {
    draft.delivery.record?.answered(draft, sent)
    guard outcome != .accepted else { return }
    refusals.keep(sent, outcome, draft)
  }

  /// No key may ask the other environment (`second`), so that the first answer counts.
  func fellBack(
    on first: SendOutcome, _ outcome: PushOutcome, _ refused: PushDraft, after second: SendOutcome, _ draft: PushDraft
  ) {
    draft.delivery.record?.answered(draft, second)
    if case .stale = outcome { refusals.keep(first, outcome, refused) }
  }

  /// The push has ended, sent or not.
  func ended(_ outcome: PushOutcome, _ sent: SendOutcome, _ draft: PushDraft) {
    counters.count(outcome, sent, app: draft.content.bundleID)
  }
}
