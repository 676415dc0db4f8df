import APNs
import EventLoop
import Jobs
import Registry
import Telemetry

/// What is taken out of the registry on the way.
extension DeliveryLine {
  /// What stands in a user's set and is not the user's is never sent to, and taken out.
  func clean(_ removals: [Removal], of delivery: Delivery) {
    guard !removals.isEmpty, let username = delivery.username else { return }
    log.info(
      "removed entries from a user's devices that are not the user's",
      [
        "username": .init(username), "entries": .init(removals.count), "reason": .init(removals[0].reason.rawValue),
      ])
    registry.clean(user: username, removals) { _ in }
  }

  /// A token that APNs calls stale goes, unless it was registered anew since.
  func removeStale(_ device: Device, unregisteredSince: Int64?) {
    // A device of nobody stands in its app's audience; what stands nowhere needs no removal.
    guard device.username != nil || device.bundleID != nil else { return }
    let stale = StaleDevice(
      token: device.token, owner: device.username ?? "", bundleID: device.bundleID,
      notAfter: unregisteredSince ?? device.updatedAt)
    registry.removeStale([stale]) { _ in }
  }

  func removalAllowed(_ draft: PushDraft, _ outcome: PushOutcome) -> Bool {
    guard case .answered(let answer) = outcome, let push = draft.current, let client else { return false }
    return client.removalAllowed(for: push, after: answer)
  }
}
