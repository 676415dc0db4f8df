import APNs
import EventLoop
import Jobs
import Queue
import Registry

/// What becomes of a push after an answer. A token that one environment does not know is looked up in the other one.
extension Pipeline {
  func answered(_ sent: SendOutcome, _ draft: PushDraft) {
    if sent.isBadDeviceToken, look(after: sent, draft) { return }
    // Content that is of one environment is not looked up in the other, which may know the token.
    let isProof = !sent.isBadDeviceToken || draft.content.isLastToAsk
    let outcome = PushOutcome(sent, removalAllowed: isProof && mayRemove(sent, draft))
    if outcome == .accepted, draft.device.environment == nil { learn(draft) }
    finish(draft, outcome, sent)
  }

  private func finish(_ draft: PushDraft, _ outcome: PushOutcome, _ sent: SendOutcome) {
    let outcome = delayed(outcome, draft)
    observer.answered(sent, outcome, draft)
    end(draft, outcome, sent)
  }

  private func end(_ draft: PushDraft, _ outcome: PushOutcome, _ sent: SendOutcome) {
    if case .stale(let since) = outcome {
      cleanup.removeStale(draft, unregisteredSince: since, reason: sent.reason)
    }
    record(outcome, sent, draft)
  }

  /// Whether route and job allow that the device is removed because of the answer.
  private func mayRemove(_ sent: SendOutcome, _ draft: PushDraft) -> Bool {
    guard case .answered(let answer) = sent, !answer.isAccepted, let client = draft.content.client
    else { return false }
    return composer.proof(of: draft).holds(for: answer) && client.removalAllowed(for: draft, after: answer)
  }

  /// The outcome with the time to wait after a fault.
  private func delayed(_ outcome: PushOutcome, _ draft: PushDraft) -> PushOutcome {
    guard case .open(_, isFault: true) = outcome else { return outcome }
    let client = draft.content.client
    let delay = PushOutcome.faultDelay(
      untilProbe: client?.untilProbe(for: draft),
      outage: client?.outage(of: draft.content.environment) ?? .zero,
      untilExpiration: draft.delivery.state.expiresAt.map { .milliseconds($0 - Clock.unixMilliseconds) },
      random: .random(in: 0..<1))
    return .open(after: delay, isFault: true)
  }

  /// The environment that has accepted the push is the device's, unless both have one gateway.
  private func learn(_ draft: PushDraft) {
    guard draft.content.client?.knowsEnvironments == true else { return }
    learned.add(
      AcceptedDevice(draft.device, in: draft.content.environment, instance: draft.delivery.instance))
  }

  // MARK: - The other environment

  /// Sends the push once more, to the other environment. Returns false if that cannot be asked: then the answer counts.
  private func look(after first: SendOutcome, _ draft: PushDraft) -> Bool {
    guard let content = composer.contentElsewhere(of: draft.content) else { return false }
    let look = EnvironmentLooks.Look(
      first: first, mayRemove: mayRemove(first, draft), refused: draft,
      draft: PushDraft(delivery: draft.delivery, device: draft.device, content: content, page: draft.page))
    observer.answered(first, .failed, draft)
    switch looks.begin(look) {
    case .send: send(look)
    case .wait: break
    case .refuse: end(draft, .failed, first)
    case .busy:
      record(
        delayed(.open(after: .zero, isFault: true), draft),
        .notProcessed("too many tokens are being tried in the other environment"), draft)
    }
    return true
  }

  /// It is the turn of a look. Like any push, it is sent only while the job is this worker's.
  private func send(_ look: EnvironmentLooks.Look) {
    let draft = look.draft
    guard !draft.delivery.claim.isFenced else {
      draft.page?.broadcast.abandon()
      return EventLoop.atEndOfTurn { [self] in endLook() }
    }
    guard !draft.delivery.claim.isCancelled else { return giveUp(look, because: "cancelled") }
    guard queue.lease.isFresh else {
      queue.lease.beat()
      return giveUp(look, because: "the lease is not confirmed")
    }
    draft.completion = { [self] second in
      answered(second, look)
      endLook()
    }
    observer.sending(draft)
    draft.content.client?.send(draft)
  }

  private func giveUp(_ look: EnvironmentLooks.Look, because reason: String) {
    // The page of its broadcast may be submitting other drafts now.
    EventLoop.atEndOfTurn { [self] in
      record(delayed(.open(after: .zero, isFault: true), look.draft), .notProcessed(reason), look.draft)
      endLook()
    }
  }

  private func endLook() {
    if let next = looks.end() { send(next) }
  }

  private func answered(_ second: SendOutcome, _ look: EnvironmentLooks.Look) {
    let draft = look.draft
    let result = EnvironmentLook(
      first: look.first, second: second, mayRemove: (look.mayRemove, mayRemove(second, draft)))
    guard !result.isOfFirst else {
      observer.fellBack(on: look.first, result.outcome, look.refused, after: second, draft)
      return end(look.refused, result.outcome, look.first)
    }
    if result.outcome == .accepted { learn(draft) }
    finish(draft, result.outcome, second)
  }

  /// The worker stops: the devices whose looks wait stay open.
  func abandonLooks() {
    for look in looks.drainWaiting() {
      record(.open(after: .zero, isFault: true), .notProcessed("the worker stopped"), look.draft)
    }
  }
}
