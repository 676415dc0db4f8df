import APNs
import PushModel
import Registry

/// Whether a refusal of a token says that the device is gone, or only that the job asked for the wrong thing.
struct RemovalProof {
  let device: Device
  /// The app and the push type that the push was sent as.
  let bundleID: String
  let pushType: PushType
  /// The app of devices that were registered for none.
  let defaultBundleID: String?

  func holds(for answer: APNsAnswer) -> Bool {
    guard answer.status == 400, let kind = device.kind else { return true }
    if answer.reason == "DeviceTokenNotForTopic" {
      return device.bundleID == bundleID && pushType.isSent(to: kind)
    }
    // The keys of another app may serve another environment.
    return device.bundleID ?? defaultBundleID == bundleID
  }
}
