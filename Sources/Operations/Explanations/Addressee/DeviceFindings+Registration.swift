import PushModel
import Registry

extension DeviceFindings {
  /// What a device is registered as, and which pushes reach it.
  func registered(_ device: DeviceFacts, _ metadata: DeviceMetadata) -> Finding {
    let name = facts.shown(device.token)
    var words = [metadata.bundleID ?? "no app", metadata.environment?.rawValue ?? "environment unknown"]
    if metadata.kind != .app { words.append("kind \(metadata.kind)") }
    if let phone = metadata.deviceID { words.append("phone \(phone)") }
    let sentences = ["Device \(name) is registered for \(words.joined(separator: ", "))."]
    return Finding(
      .fact, (sentences + consequences(device, metadata)).joined(separator: " "), since: metadata.updatedAt,
      subject: name)
  }

  private func consequences(_ device: DeviceFacts, _ metadata: DeviceMetadata) -> [String] {
    var sentences: [String] = []
    let app = metadata.bundleID ?? facts.fleet.defaultApp
    if metadata.bundleID == nil, let app {
      sentences.append("It is a device of the default app, \(app) (APNS_BUNDLE_ID).")
      if device.instance == nil, metadata.kind == .app {
        sentences.append("Jobs to the app (to.app) reach it once a worker has stored that, within an hour.")
      }
    }
    switch metadata.kind {
    case .app: break
    case .activity: sentences.append("It gets the updates of Live Activity \(metadata.activity ?? "") and its end.")
    case .pushtostart:
      sentences.append("It starts Live Activities with attributes of the type \(metadata.activity ?? "").")
    default: sentences.append("Only pushes of the type \(metadata.kind) reach it.")
    }
    if metadata.environment == nil, let first = facts.fleet.environment(of: app) {
      sentences.append(
        "A push is tried in \(first) first and, on BadDeviceToken, once in \(first.other), if a key may send there; the "
          + "environment that accepts it is stored.")
    }
    return sentences
  }
}
