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
    guard answer.status == 400, device.kind != nil else { return true }
    if answer.reason == "DeviceTokenNotForTopic" { return device.isOwnTopic(of: pushType, app: bundleID) }
    // The keys of another app may serve another environment.
    return device.bundleID ?? defaultBundleID == bundleID
  }
}

extension Device {
  /// By whom the mass-removal guard counts the device.
  var owner: PushOwner? { kind == nil ? .unregistered : username.map(PushOwner.user) }

  /// What a refusal of a push to the device says about its token. `isLastToAsk` is false if the other environment is asked about
  /// a token that this one does not know.
  func evidence(of pushType: PushType, app bundleID: String, isLastToAsk: Bool) -> TokenEvidence {
    TokenEvidence(ofEnvironment: isLastToAsk, ofTopic: isOwnTopic(of: pushType, app: bundleID))
  }

  /// Whether the topic is the one that the device was registered with, as far as that is known.
  fileprivate func isOwnTopic(of pushType: PushType, app bundleID: String) -> Bool {
    guard let kind else { return true }
    return self.bundleID == bundleID && pushType.isSent(to: kind)
  }
}
