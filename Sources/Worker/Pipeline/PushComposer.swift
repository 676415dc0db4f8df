package import APNs
package import EventLoop
import Jobs
package import PushModel
package import Registry

/// Makes the pushes of a job from its devices; refuses what APNs would refuse.
@EventLoop
package struct PushComposer {
  enum Result {
    case pushes([PushDraft], unreachable: [UnreachableDevice])
    /// The job is invalid for every device; the reason is one that a producer can act on.
    case refused(String)
  }

  /// The app of jobs and tokens that do not name one.
  package let bundleID: String?
  /// The environment of tokens registered without one.
  let environment: PushEnvironment
  /// Nil in polling-only mode.
  let clients: AppClients?

  package init(bundleID: String?, environment: PushEnvironment, clients: AppClients?) {
    self.bundleID = bundleID
    self.environment = environment
    self.clients = clients
  }

  /// `page` is the page of a broadcast that the devices are from.
  func compose(_ delivery: Delivery, _ devices: ArraySlice<Device>, page: PushDraft.Page? = nil) -> Result {
    let payload: [UInt8]
    do {
      payload = try delivery.payload()
    } catch {
      return .refused(error.reason)
    }
    // Most devices of a job share their app and environment.
    var shared: PushContent?
    var app = App()
    var drafts: [PushDraft] = []
    drafts.reserveCapacity(devices.count)
    var unreachable: [UnreachableDevice] = []
    for device in devices {
      if let reason = PushComposer.obstacle(to: device, as: delivery.job.pushType) {
        unreachable.append(UnreachableDevice(token: device.token, reason: reason))
        continue
      }
      guard let bundle = delivery.job.app ?? bundleID(of: device) else {
        return .refused("app: the job names no app, the token was registered for none, and APNS_BUNDLE_ID is not set")
      }
      if app.bundleID != bundle { app = self.app(bundle) }
      guard let target = app.target else {
        unreachable.append(UnreachableDevice(token: device.token, reason: Tally.unknownApp))
        continue
      }
      if let mark = device.unreachable, mark == target.reach(else: self.environment) {
        unreachable.append(UnreachableDevice(token: device.token, reason: Tally.unreachableHere))
        continue
      }
      let environment = device.environment ?? target.environment(else: environment)
      guard let client = target.client(for: environment) else {
        unreachable.append(UnreachableDevice(token: device.token, reason: Tally.noKeyForEnvironment))
        continue
      }
      let content: PushContent
      if let shared, shared.environment == environment, shared.bundleID == bundle {
        content = shared
      } else {
        var own = payload
        if let special = delivery.ownContent, special.isOfEnvironment {
          do { own = try special.payload(in: environment) } catch { return .refused(error.reason) }
        }
        content = PushContent(
          delivery, payload: own, bundleID: bundle, environment: environment, client: client,
          isLastToAsk: target.otherClient(than: environment) == nil,
          asked: target.asked(in: environment, else: self.environment))
        shared = content
      }
      drafts.append(PushDraft(delivery: delivery, device: device, content: content, page: page))
    }
    // A job whose devices all are of unknown apps names a wrong one.
    if drafts.isEmpty, let bundle = app.bundleID,
      unreachable.contains(where: { $0.reason == Tally.unknownApp }),
      !unreachable.contains(where: { [Tally.noKeyForEnvironment, Tally.unreachableHere].contains($0.reason) })
    {
      return .refused(PushComposer.unknownApp(bundle))
    }
    return .pushes(drafts, unreachable: unreachable)
  }

  /// The app of the latest device.
  private struct App {
    var bundleID: String?
    /// Nil if the fleet has no app with the bundle id.
    var target: AppTarget?
  }

  private func app(_ bundleID: String) -> App { App(bundleID: bundleID, target: clients?.target(of: bundleID)) }

  /// Why nothing can be pushed to an app, for producers and operators.
  static func unknownApp(_ bundleID: String) -> String {
    "app: no app of MARTLET_APPS has the bundle id \(bundleID), and no APNS_* key is set for other apps"
  }

  /// Nil if neither the device nor the configuration names an app.
  func bundleID(of device: Device) -> String? { device.bundleID ?? bundleID }

  /// The environment in which a device is tried first.
  package func environment(of device: Device, app: String?) -> PushEnvironment {
    let target = clients?.target(of: app ?? bundleID(of: device) ?? "")
    return device.environment ?? target?.environment(else: environment) ?? environment
  }

  /// Why nothing of this type can be pushed to a device of any app; nil if something can.
  static func obstacle(to device: Device, as pushType: PushType) -> String? {
    if device.platform == .android { return Tally.unsupportedPlatform }
    // A token that is not registered may be of any kind.
    guard let kind = device.kind, !pushType.isSent(to: kind) else { return nil }
    return Tally.wrongTokenKind
  }

  enum Destination {
    case client(APNsClient, PushEnvironment)
    /// The reason is one of ``Tally``.
    case unreachable(reason: String)
  }

  /// Where to push an alert to a device.
  func destination(of device: Device) -> Destination {
    if let reason = PushComposer.obstacle(to: device, as: .alert) { return .unreachable(reason: reason) }
    guard let target = clients?.target(of: bundleID(of: device) ?? "") else {
      return .unreachable(reason: Tally.unknownApp)
    }
    let environment = device.environment ?? target.environment(else: environment)
    guard let client = target.client(for: environment) else {
      return .unreachable(reason: Tally.noKeyForEnvironment)
    }
    if let mark = device.unreachable, mark == target.reach(else: self.environment) {
      return .unreachable(reason: Tally.unreachableHere)
    }
    return .client(client, environment)
  }

  /// Of which environments the gateway knows the tokens that pushes to an app in `environment` go to.
  func asked(of bundleID: String, in environment: PushEnvironment) -> EnvironmentSet {
    clients?.target(of: bundleID)?.asked(in: environment, else: self.environment) ?? EnvironmentSet(environment)
  }

  /// What the answers have shown of a device; nil for nothing new. `knowsEnvironments`: whether the client that was asked does.
  func finding(_ result: AnsweredPush, of device: Device, app bundleID: String, knowsEnvironments: Bool)
    -> DeviceFinding?
  {
    if result.isUnreachable, device.kind != nil {
      return clients?.target(of: bundleID).map { .unreachable(reach: $0.reach(else: environment)) }
    }
    guard knowsEnvironments else { return nil }
    return result.learned(of: device).map { .accepted($0) }
  }

  /// The client that may ask the other environment about a token of an app. Nil if there is none.
  func clientElsewhere(of bundleID: String, than environment: PushEnvironment) -> APNsClient? {
    clients?.target(of: bundleID)?.otherClient(than: environment)
  }

  /// The same to the other environment; nil if that cannot be asked.
  func contentElsewhere(of content: PushContent) -> PushContent? {
    if content.isOfEnvironment { return nil }
    return clientElsewhere(of: content.bundleID, than: content.environment).map { PushContent(content, through: $0) }
  }

  func answer(to draft: PushDraft, _ sent: SendOutcome) -> PushAnswer {
    PushAnswer(
      sent, to: draft, draft.device, bundleID: draft.content.bundleID, defaultBundleID: bundleID,
      through: draft.content.client, asked: draft.content.asked)
  }
}
