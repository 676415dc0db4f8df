import APNs
import EventLoop
import Jobs
import PushModel
import Queue
import Redis
import Registry

/// The path of a job, top to bottom: claimed, past the gates before its devices are known, resolved, past the gates after that,
/// submitted, sent. What follows is in PipelineEnd.swift: answered, ended, left.
///
/// Works in batches: one exchange resolves the owners of all jobs of a claim; the pushes of one turn of the event loop are
/// written together, and so are their settlements.
@EventLoop
final class Pipeline {
  let context: PipelineContext
  let queue: JobQueue
  /// Nil in polling-only mode.
  let clients: AppClients?
  let observer: JobObserver
  let window: SendWindow
  let composer: PushComposer
  let cleanup: RegistryCleanup
  let broadcasts: Broadcasts
  let looks = EnvironmentLooks()
  let learned: LearnedEnvironments
  let retrySchedule: RetrySchedule
  let settlements: SettlementWriter
  let notifications: NotificationRecords
  private var intake: Intake
  private let lookup: (any AddresseeLookup)?
  private let gatesBeforeDevices: Gates
  private let gatesAfterDevices: Gates
  /// Jobs and pushes, each with its permit, that wait for the lease to be confirmed.
  private var unconfirmedJobs: [Delivery] = []
  private var unconfirmedPushes: [PushDraft] = []
  /// Whether ``sendWaiting()`` is running.
  private var isSendingWaiting = false

  init(_ context: PipelineContext) {
    let configuration = context.configuration
    self.context = context
    queue = context.queue
    clients = context.clients
    observer = context.observer
    window = context.window
    intake = Intake(
      classes: configuration.classes, queues: configuration.queues, mode: configuration.mode,
      formats: configuration.formatsInOrder)
    composer = PushComposer(
      bundleID: configuration.bundleID, environment: configuration.defaultEnvironment, clients: context.clients)
    let steps = configuration.steps.map { $0(context.worker) }
    lookup = steps.lazy.compactMap(\.lookup).first
    gatesBeforeDevices = Gates(
      [OperatorMarks(queue: queue), DuplicateGate(connection: context.connection, queues: configuration.queues)]
        + steps.compactMap(\.gateBeforeDevices))
    gatesAfterDevices = Gates(steps.compactMap(\.gateAfterDevices))
    cleanup = RegistryCleanup(registry: context.registry, log: context.log)
    learned = LearnedEnvironments(registry: context.registry, log: context.log)
    retrySchedule = RetrySchedule(maximumAttempts: configuration.maximumAttempts)
    settlements = SettlementWriter(configuration, context.memory)
    notifications = NotificationRecords(configuration)
    broadcasts = Broadcasts(context, composer: composer)
    // Weak references would slow down every retain of the pipeline, which lives as long as the permits.
    gatesBeforeDevices.exits.passed = { [unowned self] in resolve($0) }
    gatesAfterDevices.exits.passed = { [unowned self] in for delivery in $0 { submit(delivery) } }
    for gates in [gatesBeforeDevices, gatesAfterDevices] {
      gates.exits.stopped = { [unowned self] in stopped($0, $1) }
    }
    context.permits.onRelease { [unowned self] in sendWaiting() }
  }

  /// Uses other classes for the jobs that are claimed from now on.
  func replace(classes: any JobClasses) { intake.classes = classes }

  // MARK: - Claimed

  /// The claims are of one queue.
  func take(_ claims: [Claim]) {
    observer.claimed(claims)
    var deliveries: [Delivery] = []
    var isConcerned = false
    var scheduled: [(delivery: Delivery, at: Int64)] = []
    deliveries.reserveCapacity(claims.count)
    let worker = queue.lease.name.value
    let now = Clock.unixMilliseconds
    for claim in claims {
      switch intake.decide(claim, worker: worker, now: now) {
      case .deliver(let delivery):
        observer.began(delivery)
        deliveries.append(delivery)
        if gatesBeforeDevices.concern(delivery) { isConcerned = true }
      case .end(let delivery, let outcome):
        observer.began(delivery)
        leave(delivery, as: outcome)
      case .buryCrashed(let delivery): buryCrashed(delivery)
      case .schedule(let delivery, let at): scheduled.append((delivery, at))
      case .refuse(let reason): refuse(claim, because: reason)
      }
    }
    if scheduled.isEmpty { return isConcerned ? gatesBeforeDevices.pass(deliveries) : resolve(deliveries) }
    // First, as the other jobs of the claim may replace them: gates that were not concerned may be then.
    screenScheduled(scheduled) { [self] in gatesBeforeDevices.pass(deliveries) }
  }

  /// Keeps jobs until their time has come, unless they are cancelled.
  private func screenScheduled(
    _ jobs: [(delivery: Delivery, at: Int64)], then next: @escaping @EventLoop () -> Void
  ) {
    let queueIndex = jobs[0].delivery.claim.queueIndex
    guard queue.control.has(.cancellations, queueIndex: queueIndex) else {
      for job in jobs { schedule(job.delivery, at: job.at) }
      return next()
    }
    queue.screen(jobs.map { (id: $0.delivery.id, replaces: false) }, queueIndex: queueIndex) { [self] result in
      // Without an answer the cancellations are looked up when the jobs are due.
      let answers = (try? result.get()) ?? jobs.map { _ in .go }
      for (job, answer) in zip(jobs, answers) {
        if answer == .cancelled {
          leave(job.delivery, as: .cancelled(after: .complete))
        } else {
          schedule(job.delivery, at: job.at)
        }
      }
      next()
    }
  }

  /// What a gate has not let through.
  private func stopped(_ delivery: Delivery, _ answer: GateAnswer) {
    guard !delivery.claim.isFenced else { return releasePermit(of: delivery) }
    switch answer {
    case .go: break
    case .end(let outcome): leave(delivery, as: outcome)
    case .refuse(let reason): endAttempt(delivery, AttemptEnd(refusal: reason))
    case .postpone(let error): postpone(delivery, error)
    }
  }

  // MARK: - Resolved

  private func resolve(_ deliveries: [Delivery]) {
    var single: [Delivery] = []
    single.reserveCapacity(deliveries.count)
    var queries: [DeviceQuery] = []
    queries.reserveCapacity(deliveries.count)
    for delivery in deliveries {
      if let query = delivery.query {
        single.append(delivery)
        queries.append(query)
      } else if case .app(let app) = delivery.job.addressee {
        broadcast(delivery, to: app)
      } else {
        lookUp(delivery)
      }
    }
    guard !single.isEmpty else { return }
    context.registry.resolve(queries) { [self] in resolved(single, $0) }
  }

  private func resolved(_ deliveries: [Delivery], _ resolutions: [Resolution]) {
    guard queue.lease.isFresh else { return wait(deliveries) }
    var gated: [Delivery] = []
    for (delivery, resolution) in zip(deliveries, resolutions) {
      if let error = resolution.error {
        postpone(delivery, error)
      } else if let user = resolution.largeUser {
        // The other jobs do not wait for it.
        context.registry.resolveLarge(user) { [self] in resolved([delivery], [$0]) }
      } else {
        if !resolution.removals.isEmpty, let username = delivery.username {
          cleanup.remove(resolution.removals, of: username)
        }
        let found = delivery.job.pusher.map { resolution.devices.map($0.device) } ?? resolution.devices
        let devices = delivery.stillOpen(delivery.ofItsKind(found))
        delivery.resolve(to: devices)
        observer.resolved(delivery, devices: devices.count, resolution.removals)
        if gatesAfterDevices.concern(delivery) { gated.append(delivery) } else { submit(delivery) }
      }
    }
    gatesAfterDevices.pass(gated)
  }

  /// Finds an addressee that the registry does not have.
  private func lookUp(_ delivery: Delivery) {
    guard clients != nil else { return endUnsent(delivery) }
    guard let lookup else {
      return stopped(delivery, .refuse(reason: "to: this worker is built without what finds such an addressee"))
    }
    lookup.find(delivery) { [self] found in
      switch found {
      case .none(let why): stopped(delivery, why)
      case .devices(let devices, let content, let event):
        guard queue.lease.isFresh else { return wait([delivery]) }
        delivery.ownContent = content
        delivery.resolve(to: devices)
        observer.resolved(delivery, event)
        gatesAfterDevices.pass([delivery])
      }
    }
  }

  // MARK: - Broadcast

  private func broadcast(_ delivery: Delivery, to app: String) {
    // Its pushes take their own permits; the claim's would be idle between pages.
    releasePermit(of: delivery)
    queue.writeState(.waiting, ofBroadcast: delivery.id, app: app, claim: delivery.claim)
    let canKeepRecords = notifications.areKept && delivery.sizeFaultForMany == nil
    guard clients != nil || canKeepRecords else { return endUnsent(delivery) }
    guard broadcasts.hasRoom(for: app) else { return leave(delivery, as: .postponed()) }
    // It may have been cancelled or paused since it was looked up.
    guard !delivery.claim.isCancelled else { return leave(delivery, as: .cancelled(after: .untouched)) }
    broadcasts.begin(delivery, app) { [self] in
      enter($0)
    } onEnd: { [self] in
      endAttempt(delivery, $0)
    }
    let queueIndex = delivery.claim.queueIndex
    if queue.control.has(.pausedBroadcasts, queueIndex: queueIndex) { pauseBroadcasts(queueIndex: queueIndex) }
  }

  /// An operator has paused broadcasts of a queue: finds out whether this worker has one of them.
  func pauseBroadcasts(queueIndex: Int) {
    let claimed = broadcasts.claimed(queueIndex: queueIndex)
    guard !claimed.isEmpty else { return }
    let jobs = claimed.map { (id: $0.delivery.id, replaces: false) }
    queue.screen(jobs, queueIndex: queueIndex) { [queue] result in
      guard case .success(let answers) = result else { return queue.control.repeatChange(queueIndex: queueIndex) }
      for (broadcast, answer) in zip(claimed, answers) where answer == .paused { broadcast.pause() }
    }
  }

  // MARK: - Submitted

  private func submit(_ delivery: Delivery) {
    guard clients != nil else { return endUnsent(delivery) }
    switch composer.compose(delivery, delivery.targets[...]) {
    case .refused(let reason): endAttempt(delivery, AttemptEnd(refusal: reason))
    case .pushes(let drafts, let unreachable):
      delivery.tally.recordUnreachable(unreachable)
      guard !drafts.isEmpty else { return endAttempt(delivery) }
      delivery.send(drafts.count)
      enter(drafts)
    }
  }

  // MARK: - Sent

  /// The pushes are of one job. They are sent when the window has a permit for them.
  private func enter(_ drafts: [PushDraft]) {
    switch window.enter(drafts) {
    case .send(let first):
      send(first)
      if drafts.count > 1 { sendWaiting() }
    case .wait:
      if let first = drafts.first { releasePermit(of: first.delivery) }
      sendWaiting()
    case .postpone(let job): postponeBusy(job)
    }
  }

  /// Sends the pushes whose turn it is, as permits allow.
  func sendWaiting() {
    // A push that is not sent gives its permit back at once.
    guard !isSendingWaiting else { return }
    isSendingWaiting = true
    defer { isSendingWaiting = false }
    while let draft = window.next() { send(draft) }
  }

  /// The window has a permit for the push.
  private func send(_ draft: PushDraft) {
    guard !draft.delivery.claim.isFenced else {
      draft.page?.broadcast.abandon()
      // The window may be sending other drafts now.
      EventLoop.atEndOfTurn { [self] in window.leave(draft, isAnswered: false) }
      return
    }
    guard !draft.delivery.claim.isCancelled else { return drop(draft) }
    guard queue.lease.isFresh else {
      unconfirmedPushes.append(draft)
      return queue.lease.beat()
    }
    draft.sender = self
    observer.sending(draft)
    draft.content.client?.send(draft)
  }

  /// The window has a permit for a push of a cancelled job, which is not sent.
  private func drop(_ draft: PushDraft) {
    // The window may be sending other drafts now.
    EventLoop.atEndOfTurn { [self] in
      window.leave(draft, isAnswered: false)
      count(.open(after: .zero, isFault: true), .notProcessed("cancelled"), draft)
    }
  }

  /// A push that was sent has ended.
  func pushEnded(_ draft: PushDraft, _ sent: SendOutcome) {
    window.leave(draft, isAnswered: sent.status != 0)
    answered(draft, sent)
  }

  // MARK: - Lease

  /// The process was suspended or Redis out of reach: nothing is sent until the lease is confirmed.
  private func wait(_ deliveries: [Delivery]) {
    unconfirmedJobs += deliveries
    queue.lease.beat()
  }

  func leaseConfirmed() {
    guard queue.lease.isFresh else { return }
    let (jobs, pushes) = (unconfirmedJobs, takeUnconfirmedPushes())
    unconfirmedJobs = []
    for draft in pushes { send(draft) }
    guard !jobs.isEmpty else { return }
    for delivery in jobs where delivery.claim.isFenced { releasePermit(of: delivery) }
    // Again, as owners may have changed.
    resolve(jobs.filter { !$0.claim.isFenced })
  }

  /// The worker's claims were fenced: the lease that jobs wait for will not be confirmed.
  func leaseLost() {
    broadcasts.dropFenced()
    leaseConfirmed()
  }

  private func takeUnconfirmedPushes() -> [PushDraft] {
    defer { unconfirmedPushes = [] }
    return unconfirmedPushes
  }

  // MARK: - SIGTERM

  /// Broadcasts end after the pages in flight; another worker continues.
  func stopBroadcasts() { broadcasts.stop() }

  /// Gives up the pushes that were not sent to APNs; their devices stay open.
  func abandonWaiting() {
    stopBroadcasts()
    // First, because the permits released below would let waiting pushes be sent.
    let waiting = window.drainWaiting()
    let unsent = takeUnconfirmedPushes()
    for draft in unsent { window.leave(draft, isAnswered: false) }
    for draft in looks.drainWaiting().map(\.draft) + unsent + waiting {
      count(.open(after: .zero, isFault: true), .notProcessed("the worker stopped"), draft)
    }
  }
}

extension JobQueue {
  /// The name of the queue that the job was claimed from.
  package func name(of delivery: Delivery) -> String { queues[delivery.claim.queueIndex].queue }
}
