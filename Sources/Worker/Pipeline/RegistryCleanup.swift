import PushModel
import APNs
import EventLoop
import Jobs
import Redis
import Registry
import Telemetry

/// Removes the invalid entries that a delivery finds in the registry. An entry that cannot be removed is found again
/// by the next delivery.
@EventLoop
struct RegistryCleanup {
  let registry: Registry
  let log: Log
  let removed = RemovalTally()

  /// Entries of the user's set that are not the user's.
  func remove(_ removals: [Removal], of username: Username) {
    let reason = removals[0].reason.rawValue
    registry.clean(user: username, removals) { result in
      switch result {
      case .success(let count):
        log.info(
          "removed entries from a user's devices that are not the user's",
          ["username": .init(username.text), "entries": .init(count), "reason": .init(reason)])
      case .failure(let error): failed(error)
      }
    }
  }

  /// A token that APNs called stale for `reason`, unless it was registered again after `unregisteredSince` (Unix ms).
  func removeStale(_ draft: PushDraft, unregisteredSince: Int64?, reason: String?) {
    let device = draft.device
    if case .instance(let id) = draft.delivery.job.addressee {
      let notAfter = device.latestStale(unregisteredSince)
      registry.deactivate(
        instance: id, token: device.token, notAfter: notAfter, reason: reason ?? StaleDevice.unknownReason
      ) { result in
        if case .failure(let error) = result { failed(error) }
      }
    }
    guard let stale = StaleDevice(device, unregisteredSince: unregisteredSince, reason: reason) else { return }
    registry.removeStale([stale]) { result in
      switch result {
      case .success(let count): removed.add(count, bundleID: stale.bundleID)
      case .failure(let error): failed(error)
      }
    }
  }

  private func failed(_ error: RedisError) {
    log.debug("a registry entry could not be removed", ["error": .init("\(error)")])
  }
}

extension StaleDevice {
  /// Nil if the device belongs to neither a user nor an app: it is not in the registry.
  init?(_ device: Device, unregisteredSince: Int64?, reason: String?) {
    guard device.username != nil || device.bundleID != nil else { return nil }
    self.init(
      token: device.token, owner: device.username ?? .nobody, bundleID: device.bundleID,
      notAfter: device.latestStale(unregisteredSince), reason: reason ?? StaleDevice.unknownReason)
  }
}

extension Device {
  /// The latest registration that APNs' answer applies to, Unix ms. Without a time, or with one in the future, it is the
  /// registration that the push was sent to.
  func latestStale(_ unregisteredSince: Int64?) -> Int64 {
    guard let since = unregisteredSince, since <= Clock.unixMilliseconds else { return updatedAt }
    return since
  }
}
