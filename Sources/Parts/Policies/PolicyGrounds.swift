import Jobs
import Operations

/// The numbers behind the decision to suppress or to hold a notification.
struct PolicyGrounds: Sendable, Equatable {
  /// Notifications that the rule allows in its period; nil if it is not about a number.
  var limit: Int?
  /// Notifications that were sent in the period.
  var used: Int?
  /// The period, in seconds.
  var seconds: Int64?
  /// Until when the rule decides the same, unix ms. For `rhythm`, when quiet hours begin.
  var until: Int64?
}

/// How much of one of a policy's limits an instance has used.
struct LimitUse: Sendable, Equatable {
  let limit: RateLimit
  let used: Int
  /// Unix ms from which the limit allows a notification again; nil if it allows one now.
  let fullUntil: Int64?
}

extension DeliveryPolicy {
  /// Returns how much of each limit is used at `now`, unix ms.
  func usage(of state: PolicyState, now: Int64) -> [LimitUse] {
    limits.map { limit in
      let recent = state.grants.map(\.at).filter { now - $0 < limit.seconds * 1000 }.sorted()
      // One more is allowed as soon as fewer than `limit.count` are left in the period.
      let full = recent.count >= limit.count ? recent[recent.count - limit.count] + limit.seconds * 1000 : nil
      return LimitUse(limit: limit, used: recent.count, fullUntil: full)
    }
  }

  /// Returns why `decision` was made about a job, or nil if the job may be sent. The other arguments are those of
  /// ``decide(_:_:now:localTime:)``.
  func grounds(
    of decision: PolicyDecision, _ state: PolicyState, _ request: PolicyRequest, now: Int64, localTime: LocalTime
  ) -> PolicyGrounds? {
    switch decision {
    case .send: return nil
    case .deferUntil(let time): return PolicyGrounds(until: time)
    case .suppress(.quietHours): return PolicyGrounds(until: quietHours?.end(at: now, localTime))
    case .suppress(.rhythm): return PolicyGrounds(until: quietHours?.nextBegin(after: now, localTime))
    case .suppress(let rule):
      var others = state
      others.grants.removeAll { $0.job == request.job }
      return grounds(of: rule, others, request.notificationClass, now: now)
    }
  }

  /// `state` is without the job itself.
  private func grounds(
    of rule: SuppressionReason, _ state: PolicyState, _ notificationClass: PolicyClass, now: Int64
  ) -> PolicyGrounds {
    switch rule {
    case .limit:
      let full = usage(of: state, now: now).filter { $0.fullUntil != nil }
      guard let use = full.max(by: { ($0.fullUntil ?? 0) < ($1.fullUntil ?? 0) }) else { return PolicyGrounds() }
      return PolicyGrounds(
        limit: use.limit.count, used: use.used, seconds: use.limit.seconds, until: use.fullUntil)
    case .spacing:
      return grounds(of: [notificationClass.name], in: notificationClass.spacingSeconds, state)
    case .collapsed:
      if let held = state.held, held.until > now { return PolicyGrounds(limit: 1, used: 1, until: held.until) }
      let names = namesCollapsing(with: notificationClass)
      return grounds(of: names, in: collapseSeconds(of: notificationClass) ?? 0, state)
    case .quietHours, .rhythm: return PolicyGrounds()
    }
  }

  /// One notification of these classes is allowed every `seconds` seconds.
  private func grounds(of names: [String], in seconds: Int64, _ state: PolicyState) -> PolicyGrounds {
    let last = state.grants.filter { names.contains($0.className) }.map(\.at).max()
    return PolicyGrounds(limit: 1, used: 1, seconds: seconds, until: last.map { $0 + seconds * 1000 })
  }
}
