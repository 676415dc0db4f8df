import APNs
import PushModel
import Queue
import Registry

/// What decides whether a device gets pushes.
struct DeviceFindings {
  let facts: AddresseeFacts

  /// Returns the findings about a device, the problems among them.
  func findings(_ device: DeviceFacts) -> [AddresseeFinding] {
    if let removal = device.removal { return [misplaced(device, removal)] }
    var findings = registration(device)
    let served = device.isStale ? nil : device.metadata.flatMap { $0.platform == .ios ? $0 : nil }
    if let served { findings += target(device, served) }
    if let note = device.refusal { findings.append(refusal(device, note)) }
    if let served { findings.append(registered(device, served)) }
    return findings
  }

  // MARK: - Registration

  private func misplaced(_ device: DeviceFacts, _ removal: Removal.Reason) -> AddresseeFinding {
    let name = facts.shown(device.token)
    var finding = AddresseeFinding(.problem, "", since: device.metadata?.updatedAt, device: name)
    switch removal {
    case .otherOwner:
      let owner = device.metadata?.username ?? ""
      finding.sentence =
        owner.isEmpty ? "Device \(name) belongs to no user now." : "Device \(name) belongs to user \(owner) now."
      finding.advice = "If that is wrong, let the app register again for this user."
    case .noMetadata:
      finding.sentence = "The registration of device \(name) has expired or was deleted."
      finding.advice = "Let the app register again; it should do so whenever it is opened."
    case .malformedToken, .invalidMetadata, .otherApp:
      finding.sentence = "Device \(name) cannot be used: \(Words.removal(removal.rawValue))."
      finding.advice = "Let the app register again. The next push removes the entry."
    }
    return finding
  }

  private func registration(_ device: DeviceFacts) -> [AddresseeFinding] {
    let name = facts.shown(device.token)
    if let instance = device.instance, device.isStale || device.isSuspended {
      return [ended(device, instance)]
    }
    guard let metadata = device.metadata else {
      return [
        AddresseeFinding(
          .problem, "Device \(name) is not registered now.", advice: "Let the app register again.", device: name)
      ]
    }
    guard metadata.platform == .android else { return [] }
    return [
      AddresseeFinding(
        .problem, "Device \(name) is registered as android, which APNs does not serve.",
        since: metadata.updatedAt, advice: PushReason.of("UnsupportedPlatform").advice, device: name)
    ]
  }

  /// Nothing is sent to the device of an instance that has ended its registration, or whose credential is not valid.
  private func ended(_ device: DeviceFacts, _ instance: String) -> AddresseeFinding {
    let name = facts.shown(device.token)
    guard device.isStale else {
      return AddresseeFinding(
        .problem,
        "The credential of instance \(instance) is disabled or revoked. Nothing is sent to its device \(name).",
        advice: "If that is wrong: martlet credentials enable instance \(instance)", device: name)
    }
    let why =
      device.refusal.map { PushReason.of($0.reason).isOfToken } == true
      ? "APNs reported the token of the instance, \(name), as invalid."
      : "The token of the instance, \(name), is not valid any more: the instance or an operator removed it, another "
        + "instance has registered it, or APNs refused it more than 3 days ago."
    return AddresseeFinding(
      .problem, "\(why) Nothing is sent to it.", since: device.refusal?.at, advice: "Let the app register again.",
      device: name)
  }

  // MARK: - App and route

  private func target(_ device: DeviceFacts, _ metadata: DeviceMetadata) -> [AddresseeFinding] {
    let name = facts.shown(device.token)
    guard let app = metadata.bundleID ?? facts.fleet.defaultApp else {
      guard facts.fleet.hasNoDefaultApp else { return [] }
      return [
        AddresseeFinding(
          facts.fleet.isPollingOnly ? .warning : .problem,
          "Device \(name) is registered for no app, and the workers have no default app (APNS_BUNDLE_ID): jobs to an app "
            + "(to.app) never reach it, and other jobs only if they name the app.",
          since: metadata.updatedAt,
          advice: "Set APNS_BUNDLE_ID, or let the app register with its bundle id.", device: name)
      ]
    }
    if facts.fleet.serves(app) == false, !facts.fleet.isPollingOnly {
      return [
        AddresseeFinding(
          .problem, "Device \(name) is registered for \(app), which no worker has an app for.",
          since: metadata.updatedAt, advice: PushReason.of("UnknownApp").advice, device: name)
      ]
    }
    let environment = metadata.environment ?? facts.fleet.environment(of: app)
    guard let route = facts.fleet.pausedRoute(of: metadata.kind.topic(bundleID: app), environment) else { return [] }
    return [
      AddresseeFinding(
        .problem,
        "The route \(route.topic) (\(route.environment.rawValue)) is paused, because APNs refuses it: \(route.reason).",
        since: route.since, advice: PushReason.sentence(PushReason.of(route.reason).fix), device: name)
    ]
  }
}
