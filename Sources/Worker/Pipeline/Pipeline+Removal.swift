import APNs
import EventLoop
import Jobs
import Redis
import Registry
import Telemetry

/// What is taken out of the registry on the way.
extension Pipeline {
  /// What stands in a user's set and is not the user's is never sent to, and taken out.
  func clean(_ removals: [Removal], of delivery: Delivery) {
    guard !removals.isEmpty, let username = delivery.username else { return }
    let reason = removals[0].reason.rawValue
    registry.clean(user: username, removals) { [self] result in
      switch result {
      case .success(let count):
        log.info(
          "removed entries from a user's devices that are not the user's",
          ["username": .init(username), "entries": .init(count), "reason": .init(reason)])
      case .failure(let error): removalFailed(error)
      }
    }
  }

  /// A token that APNs calls stale goes, unless it was registered anew since.
  func removeStale(_ draft: PushDraft, unregisteredSince: Int64?) {
    let device = draft.device
    if case .instance(let id) = draft.delivery.job.addressee {
      let notAfter = device.latestStale(unregisteredSince)
      registry.deactivate(instance: id, token: device.token, notAfter: notAfter) { [self] result in
        if case .failure(let error) = result { removalFailed(error) }
      }
    }
    guard let stale = StaleDevice(device, unregisteredSince: unregisteredSince) else { return }
    registry.removeStale([stale]) { [self] result in
      if case .failure(let error) = result { removalFailed(error) }
    }
  }

  /// The next push finds it again.
  private func removalFailed(_ error: RedisError) {
    log.debug("an entry of the registry could not be taken out", ["error": .init("\(error)")])
  }

  /// What is not the device's fault waits for the route.
  func disposition(of outcome: SendOutcome, _ draft: PushDraft) -> PushOutcome {
    let disposition = PushOutcome(outcome, removalAllowed: removalAllowed(draft, outcome))
    guard case .open(_, isFault: true) = disposition else { return disposition }
    let untilProbe = client?.untilProbe(draft.content.environment, topic: draft.content.topic)
    return .open(after: PushOutcome.faultDelay(untilProbe: untilProbe, random: .random(in: 0..<1)), isFault: true)
  }

  private func removalAllowed(_ draft: PushDraft, _ outcome: SendOutcome) -> Bool {
    guard case .answered(let answer) = outcome, let push = draft.current, let client else { return false }
    return client.removalAllowed(for: push, after: answer)
  }
}
