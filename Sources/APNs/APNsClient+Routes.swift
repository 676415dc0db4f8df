public import PushModel
import EventLoop
import Telemetry

/// What the client does with a push after an answer.
enum Reaction: Equatable {
  /// Report the outcome.
  case finish
  /// Report the outcome; it does not prove that the provider token is valid.
  case refused
  /// Send again.
  case resend
  /// Send again, on another connection if this one may be replaced: it may be at fault.
  case resendElsewhere
  /// Send again on another connection, as APNs asks for.
  case leave
}

extension APNsClient {
  /// Returns the time until the next probe of the push's route; nil if it is not paused.
  public func untilProbe(for push: Push) -> Duration? {
    guard let route = push.route, route.isPaused else { return nil }
    let now = Clock.monotonicNanoseconds
    return .nanoseconds(Int64(clamping: route.nextProbeAt > now ? route.nextProbeAt - now : 0))
  }

  /// The id of the key that signs.
  public var signingKeyID: String { configuration.keyNames[keys.current].keyID }

  /// The paused routes, the longest paused first; at most ``RouteNotice/maximumListed``.
  public var pausedRoutes: [RouteNotice] { listed(\.pause) }

  /// The routes whose tokens are no longer removed. Pushes are still sent to them.
  public var stoppedRemovals: [RouteNotice] { listed(\.removalStop) }

  /// Returns whether the token of `push` may be removed because of `answer`.
  ///
  /// Returns false if the answers of its route indicate a wrong bundle id or environment rather than invalid tokens.
  /// Call it only if the answer means ``AnswerMeaning/staleToken(unregisteredSince:)``.
  public func removalAllowed(for push: Push, after answer: APNsAnswer) -> Bool {
    guard AnswerMeaning.isSuspect(answer) else { return true }
    return push.route?.isRemovalStopped(for: push) != true
  }

  /// Returns the outcome of a push whose route is paused; nil if the push may be sent, as a probe for example.
  func refusalByRoute(_ push: Push, now: UInt64) -> SendOutcome? {
    guard let route = push.route, let pause = route.pause, !push.isProbe, !route.admits(now: now) else { return nil }
    return .notProcessed("RoutePaused: \(pause.reason)")
  }

  /// Makes the push the probe of its route if the route is paused and a probe is due. Call it just before the push is
  /// sent.
  func startProbeIfDue(_ push: Push, now: UInt64) {
    guard let route = push.route, route.isPaused, !push.isProbe else { return }
    push.isProbe = route.takeProbe(now: now, next: now + configuration.limits.probeInterval.unsignedNanoseconds)
  }

  /// Updates the mass-removal guard, the keys and the route after an acceptance.
  func accepted(_ push: Push, _ answer: APNsAnswer, now: UInt64) {
    if keys.hasSeveral { keys.proven(by: push, now: now) }
    if let route = push.route { proven(route, by: push, answer, isSuspect: false, now: now) }
  }

  /// Updates the mass-removal guard, the provider token and the route after a refusal, and returns what to do with the
  /// push. Completes what the answer means by what others were answered.
  func handle(_ answer: inout APNsAnswer, for push: Push, on connection: Connection, now: UInt64) -> Reaction {
    refusals.record(push, answer, isFault: answer.meaning == .ourBug)
    if answer.reason == "DeviceTokenNotForTopic", connection.openedAt < topicsAddedAt {
      // Until then the topic may not have been the team's: the answer says nothing.
      answer.meaning = .failed
      return .refused
    }
    // A refusal of the provider that turns out to be of one device proves no token either.
    let reaction: Reaction = answer.meaning.provesProviderToken ? .finish : .refused
    switch answer.meaning {
    case .providerRefused:
      instruments.recordTokenRefusal(answer)
      if mayResend(push, afterRefusal: answer, now: now) { return .resendElsewhere }
      blame(push, &answer, now: now)
    case .tooManyProviderTokens:
      instruments.recordTokenRefusal(answer)
      // By Apple's word the connection cannot be used any more. On another one the older token is the second step.
      push.tokenResends += 1
      if push.tokenResends == 1 { return .resendElsewhere }
      if push.tokenResends == 2, keys.token.fallBack(afterRefusalOf: push.tokenGeneration) { return .resend }
      blame(push, &answer, now: now)
    case .topicRefused, .forbidden:
      blame(push, &answer, now: now)
    case .badJob where answer.reason == "BadTopic":
      // It says nothing good of the route. An older connection may not know the topic yet.
      guard push.tokenResends == 0, push.route.map({ $0.provenAt > 0 }) == true else { return .finish }
      push.tokenResends += 1
      return .resendElsewhere
    case .newConnection:
      return .leave
    case .staleToken, .failed:
      // A refusal that dates the end of the token proves, as an accepted push does, the environment and the topic.
      if let route = push.route {
        proven(route, by: push, answer, isSuspect: AnswerMeaning.isSuspect(answer), now: now)
      }
    default:
      // An error of the gateway proves nothing about the route: its jobs wait for the next probe.
      if answer.meaning.provesRoute, let route = push.route {
        route.provenAt = now
        if push.isProbe { resume(route) }
      }
    }
    return reaction
  }

  /// Returns whether a push whose key was refused is sent again: on another connection, with another key of the team, or with a
  /// token that is minted if Apple's limit allows it.
  private func mayResend(_ push: Push, afterRefusal answer: APNsAnswer, now: UInt64) -> Bool {
    defer { push.tokenResends += 1 }
    // The first may have been sent again with the same key, because that had just accepted others.
    if keyRefused(push, answer, now: now), push.tokenResends < keys.count { return true }
    let isOfToken = answer.reason.map(APNsClient.tokenReasons.contains) ?? false
    if isOfToken, push.tokenResends < 2, keys.token.renew(afterRefusalOf: push.tokenGeneration, now: now) {
      return true
    }
    return push.tokenResends == 0 && push.route?.isPaused != true
  }

  /// Ends the push of a device that is refused while others are accepted, and pauses a route that is refused.
  private func blame(_ push: Push, _ answer: inout APNsAnswer, now: UInt64) {
    guard let route = push.route else { return }
    let blame = route.refusals.record(
      push.token.hashValue, mayBeOfDevice: answer.meaning == .forbidden, provenAt: route.provenAt, now: now)
    switch blame {
    case .device: answer.meaning = .failed
    case .unknown where !route.isPaused: break
    case .unknown, .route: pause(route, answer, now: now)
    }
  }

  /// Returns whether another key of the team signs now than the one that APNs refused.
  private func keyRefused(_ push: Push, _ answer: APNsAnswer, now: UInt64) -> Bool {
    guard keys.hasSeveral, let reason = answer.reason, APNsClient.keyReasons.contains(reason) else { return false }
    let before = keys.current
    let hasOther = keys.refused(push, reason: reason, now: now)
    if keys.current != before {
      renewConnections()
      announceStateChange()
    }
    return hasOther
  }

  /// Another token may help.
  private static let tokenReasons = ["ExpiredProviderToken", "InvalidProviderToken"]

  private static let keyReasons = [
    "InvalidProviderToken", "ExpiredProviderToken", "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken",
  ]

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
      "APNs route: most tokens look invalid, so they are kept; sending continues",
      [
        "reason": .init(stop.reason), "environment": .init(route.environment.rawValue), "topic": .init(route.topic),
        "suspectOwners": .init(counts.suspect), "owners": .init(counts.all),
        "fix": .init(PushReason.fixOfStoppedRemoval),
      ])
  }

  private func pause(_ route: Route, _ answer: APNsAnswer, now: UInt64) {
    let reason = answer.reason ?? "HTTP_\(answer.status)"
    let nextProbeAt = now + configuration.limits.probeInterval.unsignedNanoseconds
    guard route.pause(reason: reason, since: Clock.unixMilliseconds, now: now, nextProbeAt: nextProbeAt) else { return }
    if let pause = route.pause { onRouteChange?(.paused(pause)) }
    log.error(
      "APNs route paused: its jobs are kept, one push a minute tries it again",
      [
        "reason": .init(reason), "environment": .init(route.environment.rawValue), "topic": .init(route.topic),
        "fix": .init(PushReason.of(reason).fix),
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
    onRouteChange?(.resumed(pause))
    announceStateChange()
  }

  /// A client that was replaced has nothing that an operator should look at.
  private func listed(_ notice: (Route) -> RouteNotice?) -> [RouteNotice] {
    isReplaced ? [] : RouteNotice.listed(routes.all.compactMap(notice))
  }
}
