import Jobs
import Operations

/// What a policy decides about a job.
enum PolicyDecision: Sendable, Equatable {
  case send
  case suppress(SuppressionReason)
  /// Hold the job until this time (unix ms), then decide again.
  case deferUntil(Int64)
}

/// A job for which a policy is to decide.
struct PolicyRequest: Sendable, Equatable {
  /// The nonce of the job's envelope.
  var job: String
  var notificationClass: PolicyClass
  /// Unix ms, or nil if the job does not expire.
  var expiration: Int64?

  init(job: String, notificationClass: PolicyClass, expiration: Int64?) {
    self.job = job
    self.notificationClass = notificationClass
    self.expiration = expiration
  }
}

extension DeliveryPolicy {
  /// Decides about a job at `now` (unix ms) and returns the decision with the instance's new state. A pure function.
  ///
  /// A job that runs again, as a retry or after a crash, first returns its own grant. So it is counted once, it never
  /// suppresses itself, and the rules apply to the time at which it is sent.
  func decide(
    _ state: PolicyState, _ request: PolicyRequest, now: Int64, localTime: LocalTime
  ) -> (decision: PolicyDecision, state: PolicyState) {
    var next = state
    if next.held?.job == request.job { next.held = nil }
    if let until = quietHours?.end(at: now, localTime), request.notificationClass.quiet != .pass {
      let decision = quietDecision(for: request, held: next.held, until: until, now: now)
      if case .deferUntil = decision { next.held = PolicyState.Held(job: request.job, until: until) }
      return (decision, next)
    }
    let others = state.grants.filter { $0.job != request.job }
    if let reason = suppression(of: request.notificationClass, others: others, now: now, localTime: localTime) {
      // An earlier grant of this job stays, because a worker that crashed may have sent it.
      return (.suppress(reason), next)
    }
    next.grants = remembered(others, at: now)
    next.grants.append(.init(job: request.job, className: request.notificationClass.name, at: now))
    return (.send, next)
  }

  /// Returns for how many milliseconds from `now` a state must be kept.
  func lifetime(of state: PolicyState, now: Int64) -> Int64 {
    max(memory * 1000, (state.held?.until ?? now) - now)
  }

  private func quietDecision(
    for request: PolicyRequest, held: PolicyState.Held?, until: Int64, now: Int64
  ) -> PolicyDecision {
    guard request.notificationClass.quiet == .deferCollapsed else { return .suppress(.quietHours) }
    if let expiration = request.expiration, expiration <= until { return .suppress(.quietHours) }
    if let held, held.until > now { return .suppress(.collapsed) }
    return .deferUntil(until)
  }

  private func suppression(
    of notificationClass: PolicyClass, others: [PolicyState.Grant], now: Int64, localTime: LocalTime
  ) -> SuppressionReason? {
    func isRecent(_ grant: PolicyState.Grant, _ seconds: Int64) -> Bool { now - grant.at < seconds * 1000 }
    if isNearQuietHours(notificationClass, now, localTime) { return .rhythm }
    let spacing = notificationClass.spacingSeconds
    if spacing > 0, others.contains(where: { $0.className == notificationClass.name && isRecent($0, spacing) }) {
      return .spacing
    }
    if let window = collapseSeconds(of: notificationClass) {
      let names = namesCollapsing(with: notificationClass)
      if others.contains(where: { names.contains($0.className) && isRecent($0, window) }) { return .collapsed }
    }
    let isFull = limits.contains { limit in others.count { isRecent($0, limit.seconds) } >= limit.count }
    return isFull ? .limit : nil
  }

  private func isNearQuietHours(_ notificationClass: PolicyClass, _ now: Int64, _ localTime: LocalTime) -> Bool {
    guard rhythm.suppressBeforeQuietMinutes > 0, notificationClass.urgency == .low, notificationClass.quiet != .pass,
      let begin = quietHours?.nextBegin(after: now, localTime)
    else { return false }
    return begin - now <= rhythm.suppressBeforeQuietMinutes * 60_000
  }

  func collapseSeconds(of notificationClass: PolicyClass) -> Int64? {
    notificationClass.collapse.map { max($0.seconds, rhythm.collapseSeconds) }
  }

  func namesCollapsing(with notificationClass: PolicyClass) -> [String] {
    guard notificationClass.collapse?.isShared == true else { return [notificationClass.name] }
    return classes.filter { $0.collapse?.isShared == true }.map(\.name)
  }

  /// The number of seconds after which no rule counts a grant.
  private var memory: Int64 {
    let spans = limits.map(\.seconds) + classes.map { max($0.spacingSeconds, collapseSeconds(of: $0) ?? 0) }
    return spans.max() ?? 0
  }

  /// Returns the grants that a limit counts and the latest grant of each class, which collapse and spacing need.
  private func remembered(_ grants: [PolicyState.Grant], at now: Int64) -> [PolicyState.Grant] {
    let longest = (limits.map(\.seconds).max() ?? 0) * 1000
    let memory = memory * 1000
    return grants.filter { grant in
      let age = now - grant.at
      guard age >= longest else { return true }
      return age < memory && !grants.contains { $0.className == grant.className && $0.at > grant.at }
    }
  }
}
