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
    let served = device.isStale ? nil : device.metadata.flatMap { $0.platform == .ios ? $0 : nil }
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
    guard metadata.platform == .android else { return [] }
    return [
      Finding(
        .problem, "Device \(name) is registered as android, which APNs does not serve.",
        since: metadata.updatedAt, fix: PushReason.of("UnsupportedPlatform").advice, subject: name)
    ]
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
