import EventLoop
import Telemetry

extension APNsClient {
  /// How long pushes of this environment and topic are still refused; nil when they may go.
  public func isParked(_ environment: APNsEnvironment, topic: String) -> Duration? {
    routes.known(environment, topic)?.parkedNanoseconds(now: Clock.monotonicNanoseconds)
      .map { .nanoseconds(Int64(clamping: $0)) }
  }

  /// Whether the token of `push` may be removed because of `answer`: false when the answers of its route look like a
  /// wrong bundle id or environment rather than dead tokens. Ask only after a `staleToken` verdict.
  public func removalAllowed(for push: Push, after answer: APNsAnswer) -> Bool {
    guard Verdict.isSuspect(answer) else { return true }
    return push.route?.removalGuard.isTripped != true
  }

  /// The outcome of a push whose route is parked.
  func refusalByRoute(_ push: Push, now: UInt64) -> PushOutcome? {
    guard let route = push.route, route.isEverParked, route.parkedNanoseconds(now: now) != nil else { return nil }
    return .notProcessed("RouteParked: \(route.parkReason)")
  }

  /// Decides what to do about an answer; keeps the guard, the provider token and the parked routes up to date.
  func reaction(to answer: APNsAnswer, for push: Push, now: UInt64) -> Reaction {
    if answer.status == 200 {
      push.route?.removalGuard.record(isSuspect: false)
      return .finish
    }
    let verdict = Verdict(answer)
    switch verdict {
    case .expiredProviderToken:
      if renewToken(of: push, now: now) { return .resendRenewed }
      token.reportStillExpired()
    case .invalidProviderToken:
      if renewToken(of: push, now: now) { return .resendRenewed }
      park(push, answer, now: now)
    case .tooManyProviderTokens:
      if token.fallBack(afterRefusalOf: push.tokenGeneration), push.tokenResends == 0 { return .resend }
    case .newConnection:
      return .resendElsewhere
    case .parkRoute:
      park(push, answer, now: now)
    case .ourBug:
      log.error(
        "APNs found the request itself wrong", ["reason": .init(answer.reason ?? ""), "apnsId": .init(push.apnsID)])
    default:
      recordForGuard(push, answer, now: now)
    }
    return verdict.provesProviderToken ? .finish : .refused
  }

  /// Whether `push` may be tried once more, because a provider token is there that it has not been tried with.
  private func renewToken(of push: Push, now: UInt64) -> Bool {
    push.tokenResends == 0 && token.renew(afterRefusalOf: push.tokenGeneration, now: now)
  }

  private func recordForGuard(_ push: Push, _ answer: APNsAnswer, now: UInt64) {
    guard let route = push.route else { return }
    let isSuspect = Verdict.isSuspect(answer)
    route.removalGuard.record(isSuspect: isSuspect)
    if isSuspect, route.removalGuard.isTripped { park(push, answer, now: now) }
  }

  private func park(_ push: Push, _ answer: APNsAnswer, now: UInt64) {
    guard let route = push.route else { return }
    let isNews = route.parkedNanoseconds(now: now) == nil
    route.park(until: now + configuration.limits.parkTime.unsigned, reason: answer.reason ?? "HTTP_\(answer.status)")
    guard isNews else { return }
    log.error(
      "APNs route parked: nothing is sent to it and no token removed",
      [
        "reason": .init(route.parkReason), "environment": .init(route.environment.rawValue),
        "topic": .init(route.topic), "seconds": .init(configuration.limits.parkTime.components.seconds),
        "suspectAnswers": .init(route.removalGuard.suspects), "answers": .init(route.removalGuard.answers),
      ])
    announceStateChange()
  }
}
