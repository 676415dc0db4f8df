import Policy
import Queue
import APNs
import EventLoop
import Jobs
import Redis
import Registry
import Telemetry

/// The way of a job, top to bottom: claimed, parsed, resolved, asked of its policy, submitted, concluded, settled.
///
/// Works in batches: one exchange resolves the owners of all jobs of a claim, pushes of one turn leave in one write, and so
/// do their settlements.
@EventLoop
final class Pipeline {
  let queue: JobQueue
  let registry: Registry
  /// Nil in polling-only mode.
  let client: APNsClient?
  let permits: Permits
  private let dedupe: Dedupe
  private let policies: PolicyBook
  private let queueNames: [String]
  let gate: PolicyGate
  let composer: PushComposer
  let book: OutcomeBook
  let metrics: PipelineMetrics
  let log: Log
  lazy var window = SendWindow(permits: permits) { [unowned self] draft in send(draft) }
  var broadcasts: [ObjectIdentifier: AudienceRun] = [:]
  /// By app, in the order in which they came; those that have begun may be among them.
  var waitingBroadcasts: [String: [AudienceRun]] = [:]
  static let maximumBroadcastsOfApp = 2
  /// Of an app, those that wait for their turn here; more come back later.
  static let maximumWaitingOfApp = 6
  static let maximumBroadcasts = 256
  /// Jobs whose lease must be confirmed before they may be sent.
  private var held: [Delivery] = []
  /// Pushes likewise, each with its permit.
  var heldDrafts: [PushDraft] = []

  init(
    queue: JobQueue, connection: RedisConnection, registry: Registry, client: APNsClient?, permits: Permits,
    configuration: WorkerConfiguration, metrics: PipelineMetrics, log: Log
  ) {
    self.queue = queue
    self.registry = registry
    self.client = client
    self.permits = permits
    self.metrics = metrics
    self.log = log
    dedupe = Dedupe(connection: connection)
    policies = configuration.policies
    queueNames = configuration.queues
    gate = PolicyGate(connection: connection, localTime: .system)
    composer = PushComposer(bundleID: configuration.bundleID, environment: configuration.defaultEnvironment)
    book = OutcomeBook(configuration)
  }

  // MARK: - Claimed

  func take(_ claims: [Claim]) {
    var deliveries: [Delivery] = []
    deliveries.reserveCapacity(claims.count)
    for claim in claims {
      switch Intake.read(
        claim, policies: policies, queues: queueNames, mode: queue.mode, worker: queue.lease.name.value,
        now: Clock.unixMilliseconds)
      {
      case .deliver(let delivery):
        deliveries.append(delivery)
      case .settle(let delivery, let conclusion):
        conclude(delivery, conclusion)
      case .crashed(let delivery):
        buryCrashed(delivery)
      case .schedule(let delivery, let at):
        queue.settle(claim, Settlement(.schedule(element: delivery.scheduledElement, at: at)))
        permits.release()
      case .refuse(let reason):
        refuse(claim, because: reason)
      }
    }
    if !deliveries.isEmpty { checkDuplicates(deliveries) }
  }

  /// A job that is none goes to the dead letters, byte for byte.
  private func refuse(_ claim: Claim, because reason: String) {
    metrics.finished(claim, .dead)
    log.debug("refused a job", ["reason": .init(reason)])
    queue.settle(claim, book.refusal(of: claim, reason: reason, worker: queue.lease.name.value))
    permits.release()
  }

  /// Most jobs have no `dedupe` and go on at once.
  private func checkDuplicates(_ deliveries: [Delivery]) {
    var plain: [Delivery] = []
    plain.reserveCapacity(deliveries.count)
    for delivery in deliveries where delivery.job.dedupe == nil { plain.append(delivery) }
    resolve(plain)
    for delivery in deliveries where delivery.job.dedupe != nil {
      dedupe.claim(delivery) { [self] answer in
        switch answer {
        case .first: resolve([delivery])
        case .duplicate: conclude(delivery, JobOutcome(status: .duplicate, verb: .done))
        case .fault(let error): putOff(delivery, error)
        }
      }
    }
  }

  // MARK: - Resolved

  private func resolve(_ deliveries: [Delivery]) {
    var direct: [Delivery] = []
    direct.reserveCapacity(deliveries.count)
    var queries: [DeviceQuery] = []
    queries.reserveCapacity(deliveries.count)
    for delivery in deliveries {
      if let query = delivery.query {
        direct.append(delivery)
        queries.append(query)
      } else if case .app(let app) = delivery.job.addressee {
        broadcast(delivery, to: app)
      }
    }
    guard !direct.isEmpty else { return }
    registry.resolve(queries) { [self] in resolved(direct, $0) }
  }

  private func resolved(_ deliveries: [Delivery], _ resolutions: [Resolution]) {
    guard queue.lease.isFresh else { return hold(deliveries) }
    for (delivery, resolution) in zip(deliveries, resolutions) {
      if let error = resolution.error {
        putOff(delivery, error)
      } else if let user = resolution.largeUser {
        // The other jobs do not wait for it.
        registry.resolveLarge(user) { [self] in resolved([delivery], [$0]) }
      } else {
        clean(resolution.removals, of: delivery)
        let devices = delivery.stillOpen(resolution.devices)
        delivery.devices = devices
        pass(delivery, to: devices)
      }
    }
  }

  /// The process was stopped or Redis away for long: nothing is sent before the lease is known to hold.
  private func hold(_ deliveries: [Delivery]) {
    held.append(contentsOf: deliveries)
    queue.lease.beat()
  }

  /// The lease has been confirmed; owners may have changed meanwhile.
  func leaseConfirmed() {
    guard queue.lease.isFresh else { return }
    let drafts = heldDrafts
    heldDrafts = []
    for draft in drafts { send(draft) }
    guard !held.isEmpty else { return }
    let deliveries = held
    held = []
    for delivery in deliveries where delivery.claim.isFenced { releasePermit(of: delivery) }
    resolve(deliveries.filter { !$0.claim.isFenced })
  }

  /// The fleet has taken jobs away: what they were waiting for will not come.
  func dropFenced() {
    dropFencedBroadcasts()
    leaseConfirmed()
  }

  // MARK: - Submitted

  func submit(_ delivery: Delivery, to devices: [Device]) {
    guard client != nil else { return concludeUnsent(delivery) }
    switch composer.compose(delivery, devices) {
    case .refused(let reason):
      delivery.tally.badJobReason = reason
      finish(delivery)
    case .pushes(let drafts, let unsupported):
      delivery.tally.recordUnsupported(unsupported)
      delivery.unfinished = drafts.count
      guard !drafts.isEmpty else { return finish(delivery) }
      metrics.submitted(delivery.claim)
      enter(drafts, of: delivery)
    }
  }

  func enter(_ drafts: [PushDraft], of delivery: Delivery) {
    let hasPermit = delivery.hasPermit
    delivery.hasPermit = false
    window.enter(drafts, hasPermit: hasPermit)
  }

  private func send(_ draft: PushDraft) {
    // Taken away since: nothing is sent in its name, and nothing written.
    guard !draft.delivery.claim.isFenced else {
      if draft.page != nil { forget(broadcastOf: draft.delivery) }
      EventLoop.atEndOfTurn { [self] in window.leave() }
      return
    }
    guard queue.lease.isFresh else {
      heldDrafts.append(draft)
      return queue.lease.beat()
    }
    let push = draft.push { [self] outcome in
      window.leave()
      arrived(outcome, draft)
    }
    draft.current = push
    client?.send(push)
  }

  private func arrived(_ outcome: SendOutcome, _ draft: PushDraft) {
    let disposition = disposition(of: outcome, draft)
    draft.current = nil
    if case .stale(let since) = disposition {
      removeStale(draft, unregisteredSince: since)
    }
    write(disposition, outcome, draft)
  }

  func write(_ disposition: PushOutcome, _ outcome: SendOutcome, _ draft: PushDraft) {
    let delivery = draft.delivery
    let record = { (tally: inout Tally) in
      tally.record(
        disposition, token: draft.device.token, status: outcome.status, apnsID: draft.apnsID, reason: outcome.reason)
    }
    if let page = draft.page {
      broadcasts[ObjectIdentifier(delivery)]?.pushEnded(page: page, record)
      return
    }
    record(&delivery.tally)
    delivery.noteReached(draft.device, by: disposition)
    delivery.unfinished -= 1
    if delivery.unfinished == 0 { finish(delivery) }
  }

  // MARK: - Concluded and settled

  func finish(_ delivery: Delivery) {
    guard client != nil || delivery.isCutShort else {
      return concludeUnsent(delivery)
    }
    let attempt = delivery.attempt(now: Clock.unixMilliseconds)
    conclude(delivery, JobOutcome(attempt, schedule: book.schedule, random: .random(in: 0..<1)))
  }

  /// Polling-only: there is nothing to send with.
  func concludeUnsent(_ delivery: Delivery) {
    if isTooLargeForMany(delivery), let reason = delivery.tally.badJobReason {
      return conclude(delivery, JobOutcome(status: .dead, verb: .bury(reason: reason)))
    }
    conclude(delivery, JobOutcome(status: .unsent, verb: .done))
  }

  /// A job to one addressee may be polled whatever its size; one to many costs each of them as much, so APNs' limit holds.
  func isTooLargeForMany(_ delivery: Delivery) -> Bool {
    guard delivery.isForMany else { return false }
    do {
      _ = try delivery.payload()
      return false
    } catch {
      delivery.tally.badJobReason = error.reason
      return true
    }
  }

  /// At most once: an operator decides whether what a dead worker had in hand is sent again. A broadcast goes on then
  /// behind its last committed page.
  private func buryCrashed(_ delivery: Delivery) {
    guard case .app = delivery.job.addressee else { return buryUntried(delivery) }
    queue.loadProgress(of: delivery.claim) { [self] answer in
      switch answer {
      case .failure(let error):
        delivery.isProgressUnknown = true
        putOff(delivery, error)
      case .success(let progress):
        if let progress { delivery.resume(from: progress) }
        buryUntried(delivery)
      }
    }
  }

  private func buryUntried(_ delivery: Delivery) {
    delivery.isCutShort = true
    delivery.tally.open = delivery.state.open ?? []
    conclude(delivery, JobOutcome(buryingUncertain: delivery.tally, because: JobOutcome.crashed))
  }

  /// Redis did not let the attempt begin.
  func putOff(_ delivery: Delivery, _ error: RedisError) {
    delivery.isCutShort = true
    delivery.tally.openReason = "\(error)"
    // Only this job's own keys are wrong: it must not come back for ever.
    if error.isOfThisCommand { delivery.tally.isFault = false }
    finish(delivery)
  }

  func conclude(_ delivery: Delivery, _ conclusion: JobOutcome) {
    metrics.finished(delivery.claim, conclusion.status)
    releasePermit(of: delivery)
    guard book.needsOwners(of: delivery, conclusion.status), let query = delivery.query else {
      return settle(delivery, conclusion)
    }
    registry.resolve([query]) { [self] resolutions in
      delivery.devices = delivery.stillOpen(resolutions.first?.devices ?? [])
      settle(delivery, conclusion)
    }
  }

  private func settle(_ delivery: Delivery, _ conclusion: JobOutcome) {
    // The job is another worker's, and so is the progress of its broadcast.
    guard !delivery.claim.isFenced else { return }
    queue.settle(delivery.claim, book.settlement(of: delivery, conclusion))
    if case .app = delivery.job.addressee, !delivery.isProgressUnknown { forgetProgress(of: delivery) }
  }

  func releasePermit(of delivery: Delivery) {
    guard delivery.hasPermit else { return }
    delivery.hasPermit = false
    permits.release()
  }
}
