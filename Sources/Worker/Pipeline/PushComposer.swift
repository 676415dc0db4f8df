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
      if let mark = device.unreachable, mark == app.reach(else: self.environment) {
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
          question: target.question(in: environment, else: self.environment))
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
    private var reach: Int64?

    init(bundleID: String? = nil, target: AppTarget? = nil) {
      self.bundleID = bundleID
      self.target = target
    }

    @EventLoop mutating func reach(else environment: PushEnvironment) -> Int64? {
      if reach == nil { reach = target?.reach(else: environment) }
      return reach
    }
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
    case client(APNsClient, PushEnvironment, TokenQuestion)
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
    return .client(client, environment, target.question(in: environment, else: self.environment))
  }

  /// What the answers have shown of a device; nil for nothing new. `question` was asked by `client`.
  func finding(
    _ result: AnsweredPush, of device: Device, app bundleID: String, _ question: TokenQuestion,
    through client: APNsClient?
  ) -> DeviceFinding? {
    guard isCurrent(question) else { return nil }
    if result.isUnreachable, device.kind != nil {
      return clients?.target(of: bundleID).map { .unreachable(reach: $0.reach(else: environment)) }
    }
    guard client?.knowsEnvironments == true else { return nil }
    return result.learned(of: device).map { .accepted($0) }
  }

  /// Whether apps and clients are those of the question.
  private func isCurrent(_ question: TokenQuestion) -> Bool { question.generation == clients?.generation }

  /// Who may ask the other environment about a token of an app after `environment`, and what. Nil if nobody.
  func elsewhere(
    _ bundleID: String, than environment: PushEnvironment, after question: TokenQuestion
  ) -> (client: APNsClient, question: TokenQuestion)? {
    guard let target = clients?.target(of: bundleID), let client = target.otherClient(than: environment) else {
      return nil
    }
    return (client, question.followed(by: target.question(in: environment.other, else: self.environment)))
  }

  /// The same to the other environment; nil if that cannot be asked.
  func contentElsewhere(of content: PushContent) -> PushContent? {
    if content.isOfEnvironment { return nil }
    return elsewhere(content.bundleID, than: content.environment, after: content.question).map {
      PushContent(content, through: $0.client, question: $0.question)
    }
  }

  func answer(to draft: PushDraft, _ sent: SendOutcome) -> PushAnswer {
    answer(
      to: draft, sent, of: draft.device, app: draft.content.bundleID, draft.content.question,
      through: draft.content.client)
  }

  /// After a change of apps or clients the answer does not say what it was asked for.
  func answer(
    to push: Push, _ sent: SendOutcome, of device: Device, app: String, _ question: TokenQuestion,
    through client: APNsClient?
  ) -> PushAnswer {
    PushAnswer(
      sent, to: push, device, bundleID: app, defaultBundleID: bundleID, through: client,
      question: isCurrent(question) ? question : TokenQuestion(asked: [], isLast: false))
  }
}
