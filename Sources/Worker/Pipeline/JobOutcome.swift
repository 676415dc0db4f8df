package import Jobs
package import PushModel
package import Queue
package import Redis

/// The results of the pushes of an attempt, or of one page of a broadcast.
package struct Tally: Equatable {
  package static let unsupportedPlatform = "UnsupportedPlatform"
  /// The device's bundle id belongs to no app of the fleet, while those of other devices of the job do.
  package static let unknownApp = "UnknownApp"
  /// The keys of the device's app serve the other environment only.
  package static let noKeyForEnvironment = "NoKeyForEnvironment"
  /// No environment that can be asked knows the token, and one that the device may be of cannot be asked.
  package static let unreachableHere = "UnreachableHere"
  /// The job names a token of another kind than its push type goes to.
  package static let wrongTokenKind = "WrongTokenKind"

  package var result: JobResult
  /// Devices to try again.
  package var open: [DeviceToken] = []
  /// At most once: written without an answer, sent again only if an operator requeues the job.
  package var uncertain: [DeviceToken] = []
  /// The last reason that left a device open.
  package var openReason: String?
  /// Why devices are open. Those that were not tried are not counted.
  package var openReasons: [ReasonCount] = []
  /// The longest wait that an open device asks for.
  package var wait = Duration.zero
  /// Only the gateway or the configuration is at fault for the open devices.
  package var isFault = true
  /// Why the job is invalid for every device; nil if it is valid.
  package var badJobReason: String?
  package var isAtMostOnce = false

  package mutating func record(_ push: consuming EndedPush) {
    let token = push.result.token
    var outcome = DeviceOutcome.failed
    switch push.outcome {
    case .open(let after, let isFault):
      return leaveOpen(token, reason: push.result.reason, after: after, isFault: isFault)
    case .badJob: badJobReason = badJobReason ?? push.result.reason
    case .uncertain:
      if isAtMostOnce {
        uncertain.append(token)
      } else {
        leaveOpen(token, reason: push.result.reason, after: .zero, isFault: false)
      }
      outcome = .uncertain
    case .accepted: outcome = .accepted
    case .stale: outcome = .stale
    case .failed: break
    }
    result.add(push.result, as: outcome)
  }

  /// Devices that are registered and listed, but cannot be reached through APNs.
  package mutating func recordUnreachable(_ devices: [UnreachableDevice]) {
    for device in devices {
      record(EndedPush(token: device.token, outcome: .failed, reason: device.reason))
    }
  }

  /// Adds what an attempt did not try, and why the job is invalid.
  package mutating func add(_ end: AttemptEnd) {
    badJobReason = end.refusal ?? badJobReason
    for token in end.leftOpen {
      leaveOpen(token, reason: end.fault?.reason ?? openReason, after: .zero, isFault: true)
    }
  }

  package mutating func leaveOpen(_ token: DeviceToken, reason: String?, after: Duration, isFault: Bool) {
    open.append(token)
    openReason = reason
    openReasons.count(reason ?? "", by: 1)
    wait = max(wait, after)
    self.isFault = self.isFault && isFault
  }

  /// The job's status if no device is left for a later attempt or an operator; nil if some are.
  package var finishedStatus: JobStatus? {
    badJobReason == nil && open.isEmpty && uncertain.isEmpty ? result.settledStatus : nil
  }

  package mutating func merge(_ other: Tally) {
    result.absorb(other.result)
    open.append(contentsOf: other.open)
    uncertain.append(contentsOf: other.uncertain)
    openReason = other.openReason ?? openReason
    for entry in other.openReasons { openReasons.count(entry.reason, by: entry.count) }
    wait = max(wait, other.wait)
    isFault = isFault && other.isFault
    badJobReason = badJobReason ?? other.badJobReason
  }
}

/// A device to which nothing can be pushed.
package struct UnreachableDevice: Equatable {
  package let token: DeviceToken
  /// One of ``Tally``.
  package let reason: String

  package init(token: DeviceToken, reason: String) {
    self.token = token
    self.reason = reason
  }
}

/// How an attempt at a job ends: the job's status, how it leaves the worker, and how much was tried.
package struct JobOutcome: Equatable {
  /// What is known when an attempt has ended.
  package struct Attempt {
    package var tally: Tally
    package var extent = AttemptExtent.complete
    /// Attempts made, this one included.
    package var attempts = 1
    /// Unix ms.
    package var expiration: Int64?
    /// Unix ms.
    package var now: Int64
  }

  package static let uncertain = "Uncertain: APNs may have delivered it, no answer arrived"
  package static let crashed = "Uncertain: a worker died while the job was in flight, APNs may have delivered it"

  package static let pausedReason = "Paused: an operator has paused the broadcast"

  package static let appIsBusy = "AppBusy: APNs answers slowly for the app, and its share of the pushes is in flight"

  package let status: JobStatus
  package let exit: JobExit
  /// The delivery policy's rule behind the outcome; nil if it is not a policy's.
  package let rule: SuppressionReason?
  /// Why the job ends or waits, if neither the exit nor a rule says it.
  package let reason: String?
  package let extent: AttemptExtent

  package init(
    status: JobStatus, exit: JobExit, rule: SuppressionReason? = nil, reason: String? = nil,
    extent: AttemptExtent = .complete
  ) {
    self.status = status
    self.exit = exit
    self.rule = rule
    self.reason = rule?.rawValue ?? reason
    self.extent = extent
  }

  /// Whether the job has ended without anything to be kept. Comparing exits would copy what they carry.
  package var isAcknowledged: Bool { if case .acknowledge = exit { true } else { false } }

  /// Decides the outcome of an attempt. `random`, from 0..<1, is evaluated only if a delay is drawn: it asks the kernel.
  package init(_ attempt: Attempt, schedule: RetrySchedule, random: @autoclosure () -> Double) {
    let tally = attempt.tally
    let isComplete = attempt.extent == .complete
    if let reason = tally.badJobReason {
      self.init(status: .dead, exit: .bury(reason: reason), extent: attempt.extent)
    } else if isComplete, let status = tally.finishedStatus {
      self.init(status: status, exit: .acknowledge)
    } else if !isComplete || !tally.open.isEmpty {
      self.init(open: attempt, schedule: schedule, random: random())
    } else {
      self.init(buryingUncertain: tally, because: JobOutcome.uncertain)
    }
  }

  /// At most once: an operator decides whether pushes that may have arrived are sent again.
  package init(buryingUncertain tally: Tally, because reason: String, extent: AttemptExtent = .complete) {
    self.init(status: tally.result.accepted > 0 ? .partial : .dead, exit: .bury(reason: reason), extent: extent)
  }

  /// Runs the job again as if this attempt had not begun; for faults of Redis or a worker that is busy.
  package static func postponed(for delay: Duration = PushOutcome.faultDelay, because reason: String? = nil)
    -> JobOutcome
  {
    JobOutcome(
      status: .retrying, exit: .retry(delay: delay, countsAttempt: false, reason: reason), extent: .untouched)
  }

  /// Ends the job, even if some of its devices are open.
  package static func cancelled(after extent: AttemptExtent) -> JobOutcome {
    JobOutcome(status: .cancelled, exit: .acknowledge, extent: extent)
  }

  /// Keeps a broadcast until it is resumed.
  package static func paused(after extent: AttemptExtent) -> JobOutcome {
    JobOutcome(status: .retrying, exit: .pause, extent: extent)
  }

  private init(open attempt: Attempt, schedule: RetrySchedule, random: Double) {
    // A fault of the gateway or of Redis does not count as an attempt; the job's expiration still applies.
    let isFault = attempt.tally.isFault
    let schedule = isFault ? RetrySchedule(maximumAttempts: .max) : schedule
    let delay = schedule.delay(
      afterAttempt: attempt.attempts, now: attempt.now, expiration: attempt.expiration, atLeast: attempt.tally.wait,
      random: random)
    if let delay {
      self.init(
        status: .retrying,
        exit: .retry(delay: delay, countsAttempt: !isFault, reason: attempt.tally.openReason), extent: attempt.extent)
      return
    }
    let isExhausted = attempt.attempts >= schedule.maximumAttempts
    let why = isExhausted ? "gave up after \(attempt.attempts) attempts" : "expired before it could be retried"
    let last = attempt.tally.openReason ?? "no answer"
    self.init(status: .dead, exit: .bury(reason: "\(why); last reason: \(last)"), extent: attempt.extent)
  }
}

/// How many of the open devices an attempt has tried.
package enum AttemptExtent {
  case complete
  /// A part: Redis did not let the attempt begin, or a broadcast stopped midway.
  case cutShort
  /// Nothing; the results of earlier attempts stay as Redis has them.
  case untouched
}

/// How an attempt has ended, besides the answers to its pushes.
package struct AttemptEnd: Equatable {
  package struct Fault: Equatable {
    package let reason: String
    /// The job's own keys are at fault: the attempt counts, so that the job is not retried forever.
    package var isOfJob = false
  }

  package var extent = AttemptExtent.complete
  /// Devices of an earlier attempt that this one has not tried.
  package var leftOpen: [DeviceToken] = []
  /// Why the attempt was cut short; nil if the worker stopped.
  package var fault: Fault?
  /// Why the job is invalid for every device.
  package var refusal: String?
  /// An operator has paused the broadcast.
  package var isPaused = false
}

extension AttemptEnd.Fault {
  package init(_ error: RedisError) {
    self.init(reason: "\(error)", isOfJob: error.isOfThisCommand)
  }
}

extension JobOutcome {
  /// What a broadcast does after an attempt with this outcome.
  package var broadcastState: BroadcastEntry.State {
    switch exit {
    case .acknowledge: status == .cancelled ? .cancelled : .finished
    case .bury: .finished
    case .retry, .schedule, .handBack: .waiting
    case .pause: .paused
    }
  }
}
