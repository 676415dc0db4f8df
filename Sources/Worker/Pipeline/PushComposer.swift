package import PushModel
import APNs
package import EventLoop
import Jobs
import Registry

/// Makes the pushes of a job from its devices; refuses what APNs would refuse.
@EventLoop
package struct PushComposer {
  enum Result {
    case pushes([PushDraft], unsupported: [String])
    /// The job is wrong for every device; the reason is one a producer can act on.
    case refused(String)
  }

  /// The app of jobs and tokens that name none.
  let bundleID: String?
  /// Of tokens registered without one.
  let environment: PushEnvironment

  package init(bundleID: String?, environment: PushEnvironment) {
    self.bundleID = bundleID
    self.environment = environment
  }

  func compose(_ delivery: Delivery, _ devices: [Device], page: Int? = nil) -> Result {
    let job = delivery.job
    let payload: [UInt8]
    do {
      payload = try delivery.payload()
    } catch {
      return .refused(error.reason)
    }
    // Devices of one job mostly share their app and environment.
    var shared: PushContent?
    var drafts: [PushDraft] = []
    drafts.reserveCapacity(devices.count)
    var unsupported: [String] = []
    for device in devices {
      guard device.platform != .android else {
        unsupported.append(device.token)
        continue
      }
      guard let bundle = job.app ?? bundleID(of: device) else {
        return .refused("app: the job names no app, the token was registered for none, and APNS_BUNDLE_ID is not set")
      }
      let environment = environment(of: device)
      let content: PushContent
      if let shared, shared.environment == environment, shared.bundleID == bundle {
        content = shared
      } else {
        content = PushContent(delivery, payload: payload, bundleID: bundle, environment: environment)
        shared = content
      }
      drafts.append(PushDraft(delivery: delivery, device: device, content: content, page: page))
    }
    return .pushes(drafts, unsupported: unsupported)
  }

  /// Nil when neither the device nor the configuration names an app.
  func bundleID(of device: Device) -> String? { device.bundleID ?? bundleID }

  func environment(of device: Device) -> PushEnvironment {
    device.environment ?? environment
  }
}
