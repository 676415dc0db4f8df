import EventLoop
import Jobs
import PushModel
import Queue
import Redis
import Registry
import Worker

/// The gate of updates and ends, before their tokens are looked up: whoever registers a token meanwhile finds the state.
@EventLoop
final class ActivityAnnouncement: Gate {
  private let activities: Activities
  private let queue: JobQueue

  init(activities: Activities, queue: JobQueue) {
    self.activities = activities
    self.queue = queue
  }

  func concerns(_ delivery: Delivery) -> Bool {
    guard delivery.job.pushType == .liveactivity, delivery.ownContent == nil else { return false }
    guard case .activity = delivery.job.addressee, case .activity = delivery.job.content else { return false }
    return true
  }

  /// Asks whether each job brings the newest state.
  func ask(_ deliveries: [Delivery], _ answer: @escaping @EventLoop (Delivery, GateAnswer) -> Void) {
    for delivery in deliveries {
      guard case .activity(let id, _) = delivery.job.addressee,
        let job = delivery.activityJob(queue: queue.name(of: delivery))
      else {
        answer(delivery, .go)
        continue
      }
      activities.ask(id, .announce(job)) { [self] result in
        guard case .success(.send(let newest, let audience, let others, let former, let isTooOften)) = result else {
          return answer(delivery, GateAnswer(result))
        }
        delivery.ownContent = ActivityContent(
          delivery, .state(newest, audience, others: others), of: id, timestamp: newest.timestamp, activities)
        if isTooOften { delivery.addTooManyUpdates() }
        if let former { queue.hasten(former.id, queue: former.queue) }
        answer(delivery, .go)
      }
    }
  }
}

/// The gate of jobs to Live Activities whose devices are known: a start reaches a phone once, and a state reaches the tokens that have
/// not got it.
@EventLoop
final class ActivityGate: Gate {
  /// How soon a job that waits for a token looks again, at least and at most, in ms. The registration of a token makes it due at once;
  /// this finds one whose process died in between.
  private static let waits: ClosedRange<Int64> = 5_000...60_000
  /// How long a state waits for a token, in ms: no activity is active longer.
  private static let longestWait: Int64 = 8 * 3600 * 1000

  typealias Answer = @EventLoop (GateAnswer) -> Void

  private let activities: Activities
  private let channels: ChannelLookup
  private let queue: JobQueue

  init(activities: Activities, channels: ChannelLookup, queue: JobQueue) {
    self.activities = activities
    self.channels = channels
    self.queue = queue
  }

  func concerns(_ delivery: Delivery) -> Bool {
    guard delivery.job.pushType == .liveactivity else { return false }
    switch (delivery.job.content, delivery.job.addressee) {
    case (.newestState, .activityToken), (.activity, _): return true
    default: return false
    }
  }

  func ask(_ deliveries: [Delivery], _ answer: @escaping @EventLoop (Delivery, GateAnswer) -> Void) {
    for delivery in deliveries { ask(delivery) { answer(delivery, $0) } }
  }

  private func ask(_ delivery: Delivery, _ answer: @escaping Answer) {
    switch (delivery.job.content, delivery.job.addressee) {
    case (.newestState, .activityToken(let id, let token)): askForNewest(delivery, of: id, for: token, answer)
    case (.activity(let activity, _), let addressee):
      guard let job = delivery.activityJob(queue: queue.name(of: delivery)) else { return answer(.go) }
      if activity.event == .start { return findChannel(delivery, of: activity.id ?? "", job, answer) }
      if addressee.isActivity { return narrow(delivery, answer) }
      // To tokens that the producer keeps itself.
      if delivery.ownContent == nil {
        delivery.ownContent = ActivityContent(delivery, .tokens, of: "", timestamp: job.order.timestamp, activities)
      }
      answer(.go)
    default: answer(.go)
    }
  }

  // MARK: - States

  private func narrow(_ delivery: Delivery, _ answer: @escaping Answer) {
    guard let content = delivery.ownContent as? ActivityContent,
      case .state(let state, let audience, let others) = content.kind
    else { return answer(.go) }
    let known = delivery.targets.map { (device: $0, key: $0.inActivity) }.filter { audience.includes($0.key) }
    let own = known.map(\.device)
    guard !own.isEmpty || delivery.hasResults else { return wait(delivery, content, answer) }
    let newer = own.filter { $0.username.map(others.contains) ?? false }
    let open = known.filter { device, key in
      !state.hasReached(key) && !newer.contains { $0.token == device.token }
    }.map(\.device)
    guard open.isEmpty, !delivery.hasResults else {
      delivery.targets = open
      return answer(.go)
    }
    // A worker has died after it had sent the state, or all users have newer states of their own.
    answer(
      .end(
        newer.count == own.count ? .superseded(by: nil) : JobOutcome(status: .accepted, exit: .acknowledge)))
  }

  /// The activity has no token yet: the state waits for one.
  private func wait(_ delivery: Delivery, _ content: ActivityContent, _ answer: @escaping Answer) {
    let now = Clock.unixMilliseconds
    activities.ask(content.id, .wait(nonce: delivery.nonce, turn: delivery.turn)) { result in
      switch result {
      case .failure, .success(.superseded): answer(GateAnswer(result))
      case .success:
        delivery.startWaiting(until: now + ActivityGate.longestWait)
        let waited = now - (delivery.state.waitingSince ?? now)
        let next = now + min(max(waited, ActivityGate.waits.lowerBound), ActivityGate.waits.upperBound)
        answer(.end(.waitingForToken(until: min(next, delivery.state.expiresAt ?? next))))
      }
    }
  }

  /// Asks for the newest state for a token that may lack it.
  private func askForNewest(_ delivery: Delivery, of id: String, for token: DeviceToken, _ answer: @escaping Answer) {
    guard let device = delivery.targets.first(where: { $0.token == token }) else {
      delivery.targets = []
      return answer(.go)
    }
    activities.ask(id, .refresh(device.inActivity, nonce: delivery.nonce, turn: delivery.turn)) { [self] result in
      switch result {
      case .success(.newest(let newest)):
        delivery.ownContent = ActivityContent(
          delivery, .newest(newest), of: id, timestamp: newest.timestamp, activities)
        delivery.targets = [device]
        answer(.go)
      case .success(.wake(let job)):
        queue.hasten(job.id, queue: job.queue)
        answer(.end(.superseded(by: job.id)))
      default: answer(GateAnswer(result))
      }
    }
  }

  // MARK: - Starts

  private func findChannel(_ delivery: Delivery, of id: String, _ job: ActivityJob, _ answer: @escaping Answer) {
    guard let name = job.activity.start?.inputChannel else { return start(delivery, of: id, job, nil, answer) }
    channels.find(name, for: delivery) { [self] found in
      switch found {
      case .channel(let channel):
        channels.narrow(delivery, to: channel)
        start(delivery, of: id, job, channel, answer)
      case .none(let why): answer(why)
      }
    }
  }

  /// `channel` is the one that updates the activity; nil if it gets a token.
  private func start(
    _ delivery: Delivery, of id: String, _ job: ActivityJob, _ channel: Channel?, _ answer: @escaping Answer
  ) {
    let devices = delivery.targets.newestOfPhones
    guard !devices.isEmpty else { return answer(.go) }
    let keys = devices.map(\.inActivity)
    activities.ask(id, .start(job, devices: keys)) { [self] result in
      switch result {
      case .success(.start(let timestamp, let free)):
        delivery.ownContent = ActivityContent(
          delivery, .start(channel: channel), of: id, timestamp: timestamp, activities)
        delivery.targets = zip(devices, keys).filter { free.contains($1.phone) }.map(\.0)
        delivery.tally.recordUnreachable(
          zip(devices, keys).filter { !free.contains($1.phone) }.map {
            UnreachableDevice(token: $0.0.token, reason: Tally.startedBefore)
          })
        activities.countStarts(on: Array(free)) { isTooMany in
          if isTooMany { delivery.addTooManyStarts() }
          answer(.go)
        }
      case .success(.duplicate):
        answer(
          .end(JobOutcome(status: .duplicate, exit: .acknowledge, reason: Tally.startedBefore)))
      case .success(.tooManyStarts):
        answer(
          .refuse(reason: "liveActivity.id: started on \(ActivityState.maximumStarts) devices; use a channel"))
      default: answer(GateAnswer(result))
      }
    }
  }
}

extension GateAnswer {
  /// How often a job looks whether that of the newest state has ended.
  private static let laterDelay = Duration.seconds(1)

  /// The answer of an activity because of which nothing is sent.
  fileprivate init(_ answer: Result<ActivityAnswer, RedisError>) {
    self =
      switch answer {
      case .failure(let error): .postpone(error)
      case .success(.superseded(let newer)): .end(.superseded(by: newer))
      case .success(.later): .end(.postponed(for: GateAnswer.laterDelay, because: JobOutcome.stateIsOpen))
      case .success: .end(.superseded(by: nil))
      }
  }
}

extension Delivery {
  /// The nonce of the job's envelope.
  var nonce: String { claim.envelope.nonce ?? "" }

  /// The job as the activity's state knows it; nil unless it starts, updates or ends one.
  func activityJob(queue: String) -> ActivityJob? {
    guard case .activity(let activity, let notification) = job.content else { return nil }
    let first = FirstClaim(nonce: nonce)
    let enqueuedAt = job.enqueued ?? first?.at ?? claim.claimedAt
    return ActivityJob(
      id: id, nonce: nonce, turn: turn, queue: queue, user: username,
      order: ActivityOrder(
        timestamp: activity.timestamp ?? enqueuedAt / 1000, enqueuedAt: enqueuedAt, sequence: first?.sequence ?? ""),
      activity, notification, priority: job.priority, expiresAt: state.expiresAt)
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

extension [Device] {
  /// Without the older tokens of a phone, which were registered before a new one replaced them, or at the same moment. One that has
  /// come back is another phone's.
  var newestOfPhones: [Device] {
    var newest: [ExactText: Int] = [:]
    for (index, device) in enumerated() where !device.hasComeBack {
      guard device.deviceID != nil else { continue }
      let phone = ExactText(device.inActivity.phone)
      if newest[phone].map({ self[$0].updatedAt < device.updatedAt }) ?? true { newest[phone] = index }
    }
    return enumerated().filter { index, device in
      device.deviceID == nil || device.hasComeBack || newest[ExactText(device.inActivity.phone)] == index
    }.map(\.element)
  }
}
