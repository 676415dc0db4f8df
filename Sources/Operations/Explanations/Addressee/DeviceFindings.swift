import APNs
import PushModel
import Queue
import Registry

/// What decides whether a device gets pushes.
struct DeviceFindings {
  let facts: AddresseeFacts

  /// Returns the findings about a device, the problems among them.
  func findings(_ device: DeviceFacts) -> [Finding] {
    if let removal = device.removal { return [misplaced(device, removal)] }
    var findings = registration(device)
    let served = device.isStale ? nil : device.metadata.flatMap { device.isServed(as: $0) ? $0 : nil }
    if let served { findings += target(device, served) }
    if let note = device.refusal { findings.append(refusal(device, note)) }
    if let served { findings.append(registered(device, served)) }
    return findings
  }

  // MARK: - Registration

  private func misplaced(_ device: DeviceFacts, _ removal: Removal.Reason) -> Finding {
    let name = facts.shown(device.token)
    var finding = Finding(.problem, "", since: device.metadata?.updatedAt, subject: name)
    switch removal {
    case .otherOwner:
      let owner = device.metadata?.username ?? ""
      finding.text =
        owner.isEmpty ? "Device \(name) belongs to no user now." : "Device \(name) belongs to user \(owner) now."
      finding.fix = "If that is wrong, let the app register again for this user."
    case .noMetadata:
      finding.text = "The registration of device \(name) has expired or was deleted."
      finding.fix = "Let the app register again; it should do so whenever it is opened."
    case .malformedToken, .otherForm, .invalidMetadata, .otherApp:
      finding.text = "Device \(name) cannot be used: \(Words.removal(removal.rawValue))."
      finding.fix = "Let the app register again. The next push removes the entry."
    }
    return finding
  }

  private func registration(_ device: DeviceFacts) -> [Finding] {
    let name = facts.shown(device.token)
    if let instance = device.instance, device.isStale || device.isSuspended {
      return [ended(device, instance)]
    }
    guard let metadata = device.metadata else {
      return [
        Finding(
          .problem, "Device \(name) is not registered now.", fix: "Let the app register again.", subject: name)
      ]
    }
    guard let (text, reason) = obstacle(device, metadata) else { return [] }
    return [Finding(.problem, text, since: metadata.updatedAt, fix: PushReason.of(reason).advice, subject: name)]
  }

  /// Why nothing is sent to a device that is registered, and the reason of its pushes; nil if something is.
  private func obstacle(_ device: DeviceFacts, _ metadata: DeviceMetadata) -> (text: String, reason: String)? {
    let name = facts.shown(device.token)
    if metadata.platform == .android {
      return ("Device \(name) is registered as android, which APNs does not serve.", "UnsupportedPlatform")
    }
    if !device.isServed(as: metadata) {
      let text = "Device \(name) is registered under a text that is no token of APNs. Nothing is sent to it."
      return (text, PushReason.notAnAPNsToken)
    }
    guard metadata.unreachable != nil else { return nil }
    let text =
      "No environment that could be asked knew device \(name), with the keys and endpoints of then. Nothing is sent to "
      + "it until they change or it registers again."
    return (text, "UnreachableHere")
  }

  /// Nothing is sent to the device of an instance that has ended its registration, or whose credential is not valid.
  private func ended(_ device: DeviceFacts, _ instance: String) -> Finding {
    let name = facts.shown(device.token)
    guard device.isStale else {
      return Finding(
        .problem,
        "The credential of instance \(instance) is disabled or revoked. Nothing is sent to its device \(name).",
        fix: "If that is wrong: martlet credentials enable instance \(instance)", subject: name)
    }
    let why =
      device.refusal.map { PushReason.of($0.reason).isOfToken } == true
      ? "APNs reported the token of the instance, \(name), as invalid."
      : "The token of the instance, \(name), is not valid any more: the instance or an operator removed it, another "
        + "instance has registered it, or APNs refused it more than 3 days ago."
    return Finding(
      .problem, "\(why) Nothing is sent to it.", since: device.refusal?.at, fix: "Let the app register again.",
      subject: name)
  }

  // MARK: - App and route

  private func target(_ device: DeviceFacts, _ metadata: DeviceMetadata) -> [Finding] {
    let name = facts.shown(device.token)
    guard let app = metadata.bundleID ?? facts.fleet.defaultApp else {
      guard facts.fleet.hasNoDefaultApp else { return [] }
      return [
        Finding(
          facts.fleet.isPollingOnly ? .warning : .problem,
          "Device \(name) is registered for no app, and the workers have no default app (APNS_BUNDLE_ID): jobs to an app "
            + "(to.app) never reach it, and other jobs only if they name the app.",
          since: metadata.updatedAt,
          fix: "Set APNS_BUNDLE_ID, or let the app register with its bundle id.", subject: name)
      ]
    }
    if facts.fleet.serves(app) == false, !facts.fleet.isPollingOnly {
      return [
        Finding(
          .problem, "Device \(name) is registered for \(app), which no worker has an app for.",
          since: metadata.updatedAt, fix: PushReason.of("UnknownApp").advice, subject: name)
      ]
    }
    let environment = metadata.environment ?? facts.fleet.environment(of: app)
    guard let route = facts.fleet.pausedRoute(of: metadata.kind.topic(bundleID: app), environment) else { return [] }
    return [
      Finding(
        .problem,
        "The route \(route.topic) (\(route.environment.rawValue)) is paused, because APNs refuses it: \(route.reason).",
        since: route.since, fix: PushReason.sentence(PushReason.of(route.reason).fix), subject: name)
    ]
  }
}

extension DeviceFacts {
  /// Whether APNs has devices of this platform and token.
  fileprivate func isServed(as metadata: DeviceMetadata) -> Bool {
    metadata.platform == .ios && DeviceToken.isOfAPNs(token)
  }
}

/// What the last refusal of a device means.
extension DeviceFindings {
  /// A device of the user was removed. A problem only if the user has no other.
  func removed(_ note: RefusalNote) -> Finding {
    let name = facts.shown(note.token?.text ?? "")
    return Finding(
      facts.devices.isEmpty ? .problem : .fact,
      "Device \(name) was removed: APNs refused it with \(described(note)), job \(note.jobID).", since: note.at,
      fix: adviceOfRemoved(note), subject: name)
  }

  func refusal(_ device: DeviceFacts, _ note: RefusalNote) -> Finding {
    let name = facts.shown(device.token)
    let job = note.jobID.isEmpty ? "" : ", job \(note.jobID)"
    let what =
      note.status == 0
      ? "A push to device \(name) was not sent: \(note.reason)\(job)"
      : "APNs refused device \(name) with \(described(note))\(job)"
    func finding(_ severity: Finding.Severity, _ text: String, _ fix: String? = nil) -> Finding {
      Finding(severity, what + text, since: note.at, fix: fix, subject: name)
    }
    guard let metadata = device.metadata else {
      let isStale = PushReason.of(note.reason).isOfToken
      let removed = isStale ? " It was removed then, unless it was registered under no user and no app." : ""
      return finding(isStale ? .problem : .warning, ".\(removed)", adviceOfRemoved(note))
    }
    // A date later than now is of a clock that was wrong.
    guard metadata.updatedAt <= note.at || metadata.updatedAt > facts.text.now else {
      return finding(.fact, "; it has been registered again since then.")
    }
    switch note.reason {
    case "BadDeviceToken" where !device.isStale: return kept(note, metadata, finding)
    case "DeviceTokenNotForTopic" where note.topic != device.topic:
      let own = device.topic.map { "its own topic is \($0)" } ?? "it was registered for no app"
      return finding(
        .warning, ". It is kept, because \(own): the app or the push type of the job was wrong.",
        "Correct app or pushType of the job, or let the app register with its bundle id and kind.")
    default:
      let reason = PushReason.of(note.reason)
      return finding(reason.isOfToken ? .problem : .warning, ".", reason.advice)
    }
  }

  /// A token of the other environment is refused as invalid, so that this alone proves nothing.
  private func kept(
    _ note: RefusalNote, _ metadata: DeviceMetadata,
    _ finding: (Finding.Severity, String, String?) -> Finding
  ) -> Finding {
    if let environment = metadata.environment, environment != note.environment {
      return finding(.fact, "; it is known to be of \(environment) since then.", nil)
    }
    if metadata.unreachable != nil { return finding(.fact, ". It is kept.", nil) }
    return finding(
      .problem, ". It is kept: that \(note.environment.other) refuses it, too, is not proven.",
      "A later push asks \(note.environment.other), if a key may send there. If that refuses it, too, check that the app "
        + "registered the token unchanged.")
  }

  private func described(_ note: RefusalNote) -> String {
    "\(Words.named(note.reason)) (\(note.status), \(note.environment.rawValue), \(note.topic))"
  }

  private func adviceOfRemoved(_ note: RefusalNote) -> String? {
    guard note.reason == "BadDeviceToken" else { return PushReason.of(note.reason).advice }
    return
      "No environment that a key may send to accepts the token. Check that the app registered it unchanged; if it is of "
      + "\(note.environment.other), use a key that may send there."
  }
}

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
