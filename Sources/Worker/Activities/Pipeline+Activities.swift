import Activities
import APNs
import EventLoop
import Jobs
import PushModel
import Queue
import Redis
import Registry

/// Jobs to Live Activities. An update or an end is announced before its tokens are looked up, so that whoever registers a token
/// meanwhile finds its state; a start, and the newest state for one token, are asked about when the devices are known.
extension Pipeline {
  /// How often a token's job looks whether the job of the newest state has ended.
  private static let laterDelay = Duration.seconds(1)
  /// How soon a job that waits for a token looks again, at least and at most. The registration of a token makes it due at once;
  /// this finds one whose process died in between.
  private static let waits: ClosedRange<Int64> = 5_000...60_000
  /// How long a state waits for a token, in ms: no activity is active longer.
  private static let longestWait: Int64 = 8 * 3600 * 1000

  // MARK: - Announced

  /// Asks whether the job brings the newest state, and continues with its tokens if it does.
  func announce(_ delivery: Delivery, to activity: String, _ job: ActivityJob) {
    activities.ask(activity, .announce(job)) { [self] result in
      switch result {
      case .success(.send(let newest, let audience, let others, let former, let isTooOften)):
        let work = ActivityWork(id: activity, nonce: job.nonce, timestamp: newest.timestamp)
        work.announced = (newest, audience)
        work.others = others
        delivery.activity = work
        if isTooOften { delivery.noteTooManyUpdates() }
        if let former { queue.hasten(former.id, queue: former.queue) }
        resolve([delivery])
      default: end(delivery, after: result)
      }
    }
  }

  /// Ends an attempt of which nothing is sent.
  private func end(_ delivery: Delivery, after answer: Result<ActivityAnswer, RedisError>) {
    switch answer {
    case .failure(let error): postpone(delivery, error)
    case .success(.superseded(let newer)): end(delivery, as: .superseded(by: newer))
    case .success(.later):
      end(delivery, as: .postponed(for: Pipeline.laterDelay, because: JobOutcome.stateIsOpen))
    case .success: end(delivery, as: .superseded(by: nil))
    }
  }

  // MARK: - Resolved

  /// Continues with a job to a Live Activity whose devices are known.
  func submit(_ delivery: Delivery, to devices: [Device], of content: ActivityContent) {
    switch content {
    case .start(let id, let job):
      guard let name = job.activity.start?.inputChannel else { return start(delivery, devices, id, job) }
      find(name, delivery) { [self] in start(delivery, devices, id, job, $0) }
    case .state: sendState(delivery, to: devices)
    case .tokens(let timestamp):
      delivery.activity = ActivityWork(id: "", nonce: "", timestamp: timestamp)
      submit(delivery, to: devices)
    case .newest(let id, let token): sendNewest(delivery, to: devices.first { $0.token == token }, of: id)
    }
  }

  private func sendState(_ delivery: Delivery, to devices: [Device]) {
    guard let work = delivery.activity, let (state, audience) = work.announced else {
      return submit(delivery, to: devices)
    }
    let known = devices.map { (device: $0, key: $0.inActivity) }.filter { audience.includes($0.key) }
    let own = known.map(\.device)
    guard !own.isEmpty || delivery.hasResults else { return wait(delivery, work) }
    let others = own.filter { $0.username.map(work.others.contains) ?? false }
    let open = known.filter { device, key in
      !state.hasReached(key) && !others.contains { $0.token == device.token }
    }.map(\.device)
    guard open.isEmpty, !delivery.hasResults else { return submit(delivery, to: open) }
    // A worker has died after it had sent the state, or all users have newer states of their own.
    end(
      delivery, as: others.count == own.count ? .superseded(by: nil) : JobOutcome(status: .accepted, verb: .acknowledge)
    )
  }

  /// The activity has no token yet: the state waits for one.
  private func wait(_ delivery: Delivery, _ work: ActivityWork) {
    let now = Clock.unixMilliseconds
    activities.ask(work.id, .wait(nonce: work.nonce, turn: delivery.turn)) { [self] result in
      switch result {
      case .failure, .success(.superseded): end(delivery, after: result)
      case .success:
        delivery.startWaiting(until: now + Pipeline.longestWait)
        let waited = now - (delivery.state.waitingSince ?? now)
        let next = now + min(max(waited, Pipeline.waits.lowerBound), Pipeline.waits.upperBound)
        end(delivery, as: .waitingForToken(until: min(next, delivery.state.expiresAt ?? next)))
      }
    }
  }

  /// `channel` is the one that updates the activity; nil if it gets a token.
  private func start(
    _ delivery: Delivery, _ all: [Device], _ id: String, _ job: ActivityJob, _ channel: Channel? = nil
  ) {
    let devices = channel.map { reachable(all, by: $0, delivery) } ?? all
    guard !devices.isEmpty else { return submit(delivery, to: devices) }
    let keys = devices.map(\.inActivity)
    activities.ask(id, .start(job, devices: keys)) { [self] result in
      switch result {
      case .success(.start(let timestamp, let free)):
        delivery.activity = ActivityWork(id: id, nonce: job.nonce, timestamp: timestamp, isStart: true)
        delivery.activity?.channel = channel
        let open = zip(devices, keys).filter { free.contains($1.phone) }.map(\.0)
        delivery.tally.recordUnreachable(
          zip(devices, keys).filter { !free.contains($1.phone) }.map {
            UnreachableDevice(token: $0.0.token, reason: Tally.startedBefore)
          })
        activities.countStarts(on: Array(free)) { [self] isTooMany in
          if isTooMany { delivery.noteTooManyStarts() }
          submit(delivery, to: open)
        }
      case .success(.duplicate):
        end(delivery, as: JobOutcome(status: .duplicate, verb: .acknowledge, reason: Tally.startedBefore))
      case .success(.tooManyStarts):
        endAttempt(
          delivery,
          AttemptEnd(refusal: "liveActivity.id: started on \(ActivityState.maximumStarts) devices; use a channel"))
      default: end(delivery, after: result)
      }
    }
  }

  /// The devices in whose environment the channel exists. The others are recorded as unreachable.
  private func reachable(_ devices: [Device], by channel: Channel, _ delivery: Delivery) -> [Device] {
    let isReachable = { [composer] (device: Device) in
      channel.ids[composer.environment(of: device, app: delivery.job.app)] != nil
    }
    delivery.tally.recordUnreachable(
      devices.filter { !isReachable($0) }.map { UnreachableDevice(token: $0.token, reason: Tally.noChannel) })
    return devices.filter(isReachable)
  }

  /// Sends the newest state to a token that may lack it.
  private func sendNewest(_ delivery: Delivery, to device: Device?, of id: String) {
    guard let device else { return submit(delivery, to: []) }
    let nonce = delivery.claim.envelope.nonce ?? ""
    activities.ask(id, .refresh(device.inActivity, nonce: nonce, turn: delivery.turn)) { [self] result in
      switch result {
      case .success(.newest(let newest)):
        let work = ActivityWork(id: id, nonce: nonce, timestamp: newest.timestamp)
        work.newest = newest
        delivery.activity = work
        submit(delivery, to: [device])
      case .success(.wake(let job)):
        queue.hasten(job.id, queue: job.queue)
        end(delivery, as: .superseded(by: job.id))
      default: end(delivery, after: result)
      }
    }
  }

  // MARK: - Ended

  /// Writes into the activity's state how the attempt ended, then calls `next`.
  func report(
    _ work: ActivityWork, _ turn: AttemptTurn, _ outcome: JobOutcome, then next: @escaping @EventLoop () -> Void
  ) {
    guard let request = work.report(outcome, turn) else { return next() }
    // Without the report a token may get the state twice, or late.
    activities.ask(work.id, request) { _ in next() }
  }
}

extension ActivityWork {
  fileprivate func report(_ outcome: JobOutcome, _ turn: AttemptTurn) -> ActivityRequest? {
    if id.isEmpty { return nil }
    if isStart { return refused.isEmpty ? nil : .giveBack(nonce: nonce, turn: turn, phones: refused) }
    guard outcome.status.isFinal else { return .pause(nonce: nonce, turn: turn) }
    return newest.map { .settleRefresh(nonce: nonce, turn: turn, of: $0.nonce, reached: accepted) }
      ?? .settle(nonce: nonce, turn: turn, reached: accepted)
  }
}

/// What a job does to a Live Activity.
enum ActivityContent {
  case start(id: String, ActivityJob)
  /// An update or an end of the activity.
  case state
  /// To tokens that the producer keeps itself.
  case tokens(timestamp: Int64)
  case newest(id: String, token: DeviceToken)
}

extension Delivery {
  /// Nil unless the job is to a Live Activity and has its content in fields.
  func activityContent(queue: String) -> ActivityContent? {
    switch (job.content, job.addressee) {
    case (.newestState, .activityToken(let id, let token)): return .newest(id: id, token: token)
    case (.activity(let activity, _), let addressee):
      guard let job = activityJob(queue: queue) else { return nil }
      if activity.event == .start { return .start(id: activity.id ?? "", job) }
      return addressee.isActivity ? .state : .tokens(timestamp: job.order.timestamp)
    default: return nil
    }
  }

  /// Whether earlier attempts have results.
  fileprivate var hasResults: Bool { state.result != nil }

  /// `latest` is Unix ms.
  fileprivate func startWaiting(until latest: Int64) {
    guard state.waitingSince == nil else { return }
    state.waitingSince = claim.claimedAt
    state.expiresAt = min(state.expiresAt ?? latest, latest)
  }
}
