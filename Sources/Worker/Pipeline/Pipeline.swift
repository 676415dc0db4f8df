import Activities
import Policy
import Queue
import APNs
import EventLoop
import Jobs
import PushModel
import Redis
import Registry

/// The path of a job, top to bottom: claimed, checked for duplicates, resolved, subject to its policy, submitted,
/// sent (Pipeline+Sending.swift), answered (Pipeline+Answers.swift); its outcome and settlement are in Pipeline+Settling.swift.
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
  private var intake: Intake
  private let duplicates: DuplicateCheck
  /// Jobs whose `dedupe` value is new, in this turn of the event loop.
  private var firsts: [Delivery] = []
  private let gate: PolicyGate
  let activities: Activities
  let channels: Channels
  let composer: PushComposer
  let cleanup: RegistryCleanup
  let looks = EnvironmentLooks()
  let learned: LearnedEnvironments
  let retrySchedule: RetrySchedule
  let settlements: SettlementWriter
  let notifications: NotificationRecords
  let window: SendWindow
  let broadcasts: Broadcasts
  var held = HeldWork()
  /// Whether ``sendWaiting()`` is running.
  var isSendingWaiting = false

  init(_ context: PipelineContext) {
    let configuration = context.configuration
    self.context = context
    queue = context.queue
    clients = context.clients
    observer = context.observer
    window = context.window
    intake = Intake(
      policies: configuration.policies, queues: configuration.queues, mode: configuration.mode,
      formats: configuration.formatsInOrder)
    duplicates = DuplicateCheck(connection: context.connection)
    gate = PolicyGate(connection: context.connection, localTime: .system)
    activities = Activities(connection: context.connection)
    channels = Channels(connection: context.connection)
    composer = PushComposer(
      bundleID: configuration.bundleID, environment: configuration.defaultEnvironment, clients: context.clients)
    cleanup = RegistryCleanup(registry: context.registry, log: context.log)
    learned = LearnedEnvironments(registry: context.registry, log: context.log)
    retrySchedule = RetrySchedule(maximumAttempts: configuration.maximumAttempts)
    settlements = SettlementWriter(configuration, context.memory)
    notifications = NotificationRecords(configuration)
    broadcasts = Broadcasts(context, composer: composer)
    // Weak references would slow down every retain of the pipeline, which lives as long as the permits.
    context.permits.onRelease { [unowned self] in sendWaiting() }
  }

  /// Uses other policies for the jobs that are claimed from now on.
  func replace(policies: PolicyBook) { intake.policies = policies }

  // MARK: - Claimed

  func take(_ claims: [Claim]) {
    observer.claimed(claims)
    var deliveries: [Delivery] = []
    var scheduled: [(delivery: Delivery, at: Int64)] = []
    deliveries.reserveCapacity(claims.count)
    let worker = queue.lease.name.value
    let now = Clock.unixMilliseconds
    for claim in claims {
      switch intake.decide(claim, worker: worker, now: now) {
      case .deliver(let delivery):
        observer.began(delivery)
        deliveries.append(delivery)
      case .end(let delivery, let outcome):
        observer.began(delivery)
        end(delivery, as: outcome)
      case .buryCrashed(let delivery): buryCrashed(delivery)
      case .schedule(let delivery, let at):
        scheduled.append((delivery, at))
      case .refuse(let reason): refuse(claim, because: reason)
      }
    }
    scheduled.isEmpty ? begin(deliveries) : schedule(scheduled) { [self] in begin(deliveries) }
  }

  // MARK: - Checked for duplicates

  /// Most jobs have no `dedupe` and continue at once.
  func checkDuplicates(_ deliveries: [Delivery]) {
    var plain: [Delivery] = []
    plain.reserveCapacity(deliveries.count)
    for delivery in deliveries where delivery.job.dedupe == nil { plain.append(delivery) }
    resolve(plain)
    for delivery in deliveries where delivery.job.dedupe != nil {
      duplicates.check(delivery) { [self] answer in
        switch answer {
        case .first: resolveAtEndOfTurn(delivery)
        case .duplicate: end(delivery, as: JobOutcome(status: .duplicate, verb: .acknowledge))
        case .fault(let error): postpone(delivery, error)
        }
      }
    }
  }

  /// The answers of one exchange arrive in one turn.
  private func resolveAtEndOfTurn(_ delivery: Delivery) {
    firsts.append(delivery)
    guard firsts.count == 1 else { return }
    EventLoop.atEndOfTurn { [self] in
      let deliveries = firsts
      firsts.removeAll(keepingCapacity: true)
      resolve(deliveries)
    }
  }

  // MARK: - Resolved

  func resolve(_ deliveries: [Delivery]) {
    var single: [Delivery] = []
    single.reserveCapacity(deliveries.count)
    var queries: [DeviceQuery] = []
    queries.reserveCapacity(deliveries.count)
    for delivery in deliveries {
      if delivery.job.pushType == .liveactivity,
        let (activity, job) = delivery.unannounced(queue: queueName(of: delivery))
      {
        announce(delivery, to: activity, job)
      } else if let query = delivery.query {
        single.append(delivery)
        queries.append(query)
      } else if case .app(let app) = delivery.job.addressee {
        broadcast(delivery, to: app)
      } else if case .channel(let name) = delivery.job.addressee {
        resolve(delivery, toChannel: name)
      }
    }
    guard !single.isEmpty else { return }
    context.registry.resolve(queries) { [self] in resolved(single, $0) }
  }

  func queueName(of delivery: Delivery) -> String { queue.queues[delivery.claim.queueIndex].queue }

  private func resolved(_ deliveries: [Delivery], _ resolutions: [Resolution]) {
    guard queue.lease.isFresh else { return hold(deliveries) }
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
        askPolicy(delivery, devices)
      }
    }
  }

  private func broadcast(_ delivery: Delivery, to app: String) {
    // Its pushes take their own permits; the claim's would be idle between pages.
    releasePermit(of: delivery)
    queue.note(.waiting, ofBroadcast: delivery.id, app: app, claim: delivery.claim)
    let canKeepRecords = notifications.areKept && delivery.sizeFaultForMany == nil
    guard clients != nil || canKeepRecords else { return endUnsent(delivery) }
    guard broadcasts.hasRoom(for: app) else { return end(delivery, as: .postponed()) }
    begin(delivery, to: app)
  }

  // MARK: - Subject to its policy

  /// Only jobs with a notification class have a policy. It is asked last, when nothing else prevents a push.
  private func askPolicy(_ delivery: Delivery, _ devices: [Device]) {
    guard let match = delivery.match, case .instance(let instance) = delivery.job.addressee, clients != nil,
      !devices.isEmpty
    else {
      if delivery.job.pushType == .liveactivity,
        let content = delivery.activityContent(queue: queueName(of: delivery))
      {
        return submit(delivery, to: devices, of: content)
      }
      return submit(delivery, to: devices)
    }
    let request = PolicyRequest(
      job: delivery.claim.envelope.nonce ?? delivery.id, notificationClass: match.notificationClass,
      expiration: delivery.state.expiresAt)
    gate.ask(match, instance: instance, request) { [self] answer in
      switch answer {
      case .fault(let error): postpone(delivery, error)
      case .expired: end(delivery, as: JobOutcome(status: .expired, verb: .acknowledge))
      case .decision(let decision, let grounds):
        observer.decided(decision, grounds, delivery)
        carryOut(decision, delivery, devices)
      }
    }
  }

  private func carryOut(_ decision: PolicyDecision, _ delivery: Delivery, _ devices: [Device]) {
    switch decision {
    case .send: submit(delivery, to: devices)
    case .deferUntil(let time):
      end(delivery, as: JobOutcome(status: .deferred, verb: .schedule(at: time), rule: .quietHours))
    case .suppress(let rule):
      end(delivery, as: JobOutcome(status: .suppressed, verb: .acknowledge, rule: rule))
    }
  }

  // MARK: - Submitted

  func submit(_ delivery: Delivery, to devices: [Device]) {
    guard clients != nil else { return endUnsent(delivery) }
    switch composer.compose(delivery, devices[...]) {
    case .refused(let reason): endAttempt(delivery, AttemptEnd(refusal: reason))
    case .pushes(let drafts, let unreachable):
      delivery.tally.recordUnreachable(unreachable)
      guard !drafts.isEmpty else { return endAttempt(delivery) }
      delivery.send(drafts.count)
      enter(drafts, permit: delivery.permit.take())
    }
  }

  // MARK: - Ended

  func record(_ outcome: PushOutcome, _ sent: SendOutcome, _ draft: PushDraft) {
    let delivery = draft.delivery
    let push = EndedPush(token: draft.device.token, apnsID: draft.apnsID, outcome: outcome, sent: sent)
    observer.ended(outcome, sent, draft)
    if let page = draft.page { return page.broadcast.pushEnded(push, page: page.number) }
    delivery.tally.record(consume push)
    delivery.noteReached(draft.device, by: outcome)
    delivery.activity?.note(draft.device, outcome)
    if delivery.endPush() { endAttempt(delivery) }
  }
}
