public import PushModel
import EventLoop
import Telemetry

extension APNsClient {
  /// How long until a push of this environment and topic is tried again; nil when the route is not paused.
  public func untilProbe(_ environment: PushEnvironment, topic: String) -> Duration? {
    guard let pause = routes.known(environment, topic)?.pause else { return nil }
    let now = Clock.monotonicNanoseconds
    return .nanoseconds(Int64(clamping: pause.nextProbeAt > now ? pause.nextProbeAt - now : 0))
  }

  /// The paused routes, longest first, at most ``RouteNotice/maximumListed``.
  public var pausedRoutes: [RouteNotice] {
    listed { route in
      route.pause.map {
        RouteNotice(environment: route.environment, topic: route.topic, reason: $0.reason, since: $0.since)
      }
    }
  }

  /// The routes whose tokens are no longer removed; they are sent to.
  public var stoppedRemovals: [RouteNotice] {
    listed { route in
      route.removalStop.map {
        RouteNotice(environment: route.environment, topic: route.topic, reason: $0.reason, since: $0.since)
      }
    }
  }

  /// Whether the token of `push` may be removed because of `answer`: false when the answers of its route look like a
  /// wrong bundle id or environment rather than dead tokens. Ask only after a `staleToken` decision.
  public func removalAllowed(for push: Push, after answer: APNsAnswer) -> Bool {
    guard AnswerMeaning.isSuspect(answer) else { return true }
    return push.route?.isRemovalStopped(for: push) != true
  }

  /// The outcome of a push whose route is paused; nil when it may go, as a probe too.
  func refusalByRoute(_ push: Push, now: UInt64) -> PushAnswer? {
    guard let route = push.route, let pause = route.pause, !push.isProbe, !route.admits(now: now) else { return nil }
    return .notProcessed("RoutePaused: \(pause.reason)")
  }

  /// The same at the moment of sending: of those that wait for a paused route one is the probe.
  func refusalBeforeSubmit(_ push: Push, now: UInt64) -> PushAnswer? {
    guard let route = push.route, route.isPaused, !push.isProbe else { return nil }
    push.isProbe = route.takeProbe(now: now, next: now + configuration.limits.probeInterval.unsigned)
    return refusalByRoute(push, now: now)
  }

  /// Decides what to do about an answer; keeps the guard, the provider token and the paused routes up to date.
  func reaction(to answer: APNsAnswer, for push: Push, now: UInt64) -> Reaction {
    if answer.status == 200 {
      if let route = push.route { proven(route, by: push, answer, isSuspect: false, now: now) }
      return .finish
    }
    let decision = AnswerMeaning(answer)
    refusals.note(push, answer, isFault: decision == .ourBug, now: now)
    switch decision {
    case .providerRefused:
      return refused(push, answer, now: now)
    case .topicRefused:
      pause(push, answer, now: now)
    case .tooManyProviderTokens:
      if token.fallBack(afterRefusalOf: push.tokenGeneration), push.tokenResends == 0 { return .resend }
    case .newConnection:
      return .resendElsewhere
    case .staleToken, .failed:
      // One that dates the token's death says, as an accepted push does, that environment and topic are right.
      if let route = push.route {
        proven(route, by: push, answer, isSuspect: AnswerMeaning.isSuspect(answer), now: now)
      }
    default:
      // A gateway in trouble says nothing of the route: its jobs wait for the next probe.
      if decision.provesRoute, let route = push.route {
        route.provenAt = now
        if push.isProbe { resume(route) }
      }
    }
    return decision.provesProviderToken ? .finish : .refused
  }

  /// 403: once more with a renewed provider token, as far as Apple's limit lets it be renewed; after that the route pauses.
  private func refused(_ push: Push, _ answer: APNsAnswer, now: UInt64) -> Reaction {
    guard push.tokenResends == 0 else {
      pause(push, answer, now: now)
      return .refused
    }
    if token.renew(afterRefusalOf: push.tokenGeneration, now: now) { return .resendRenewed }
    // It is the connection's first token that this one does not go with.
    if answer.reason == "UnrelatedKeyIdInToken" { return .resendRenewed }
    // A paused route has been refused often enough; any other gets the benefit of the doubt.
    if push.route?.isPaused == false { return .resend }
    pause(push, answer, now: now)
    return .refused
  }

  private func proven(_ route: Route, by push: Push, _ answer: APNsAnswer, isSuspect: Bool, now: UInt64) {
    route.provenAt = now
    if push.isProbe { resume(route) }
    if route.recordToken(of: push, isSuspect: isSuspect, reason: answer.reason) { logRemoval(route) }
  }

  private func logRemoval(_ route: Route) {
    guard let stop = route.removalStop else {
      return log.info(
        "APNs route: stale tokens are removed again",
        ["environment": .init(route.environment.rawValue), "topic": .init(route.topic)])
    }
    let counts = route.removalCounts
    log.error(
      "APNs route: most tokens look bad, none is removed; sending goes on",
      [
        "reason": .init(stop.reason), "environment": .init(route.environment.rawValue), "topic": .init(route.topic),
        "suspectOwners": .init(counts.suspect), "owners": .init(counts.all),
        "fix": .init(RouteNotice.fixOfStoppedRemoval),
      ])
  }

  /// Not when APNs has taken another push of the route since this one was handed over: then it is not the route that is refused.
  private func pause(_ push: Push, _ answer: APNsAnswer, now: UInt64) {
    guard let route = push.route, route.isPaused || route.provenAt < push.sentAt else { return }
    let reason = answer.reason ?? "HTTP_\(answer.status)"
    let nextProbeAt = now + configuration.limits.probeInterval.unsigned
    guard route.pause(reason: reason, since: Clock.unixMilliseconds, nextProbeAt: nextProbeAt) else { return }
    log.error(
      "APNs route paused: its jobs are kept, one push a minute tries it again",
      [
        "reason": .init(reason), "environment": .init(route.environment.rawValue), "topic": .init(route.topic),
        "fix": .init(RouteNotice.fix(ofPauseFor: reason)),
      ])
    announceStateChange()
  }

  private func resume(_ route: Route) {
    guard let pause = route.pause else { return }
    route.resume()
    log.info(
      "APNs route resumed",
      [
        "reason": .init(pause.reason), "environment": .init(route.environment.rawValue), "topic": .init(route.topic),
        "seconds": .init((Clock.unixMilliseconds - pause.since) / 1000),
      ])
    announceStateChange()
  }

  func observe(_ metrics: Metrics) {
    let labels = ["environment", "topic", "reason"]
    metrics.gauge(
      "martlet_apns_paused_routes", labels: labels, help: "1 for each paused route."
    ) { [weak self] in
      (self?.pausedRoutes ?? []).map(\.sample)
    }
    metrics.gauge(
      "martlet_apns_stopped_removals", labels: labels,
      help: "1 for each route whose stale tokens are kept, because too many look bad."
    ) { [weak self] in
      (self?.stoppedRemovals ?? []).map(\.sample)
    }
  }

  private func listed(_ notice: (Route) -> RouteNotice?) -> [RouteNotice] {
    let all = routes.all.compactMap(notice).sorted { ($0.since, $0.topic) < ($1.since, $1.topic) }
    return Array(all.prefix(RouteNotice.maximumListed))
  }
}

extension RouteNotice {
  fileprivate var sample: ([String], Double) { ([environment.rawValue, topic, reason], 1) }
}
