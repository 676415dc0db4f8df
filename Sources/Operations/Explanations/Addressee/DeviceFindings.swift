import APNs
import PushModel
import Queue
import Registry

/// What decides whether a device gets pushes.
struct DeviceFindings {
  let facts: AddresseeFacts

  /// Returns the findings about a device, the problems among them. A device without a finding is reported as reachable.
  func findings(_ device: DeviceFacts) -> [AddresseeFinding] {
    if let removal = device.removal { return [misplaced(device, removal)] }
    var findings = registration(device)
    if let metadata = device.metadata, metadata.platform == .ios { findings += target(device, metadata) }
    if let note = device.refusal { findings.append(refusal(device, note)) }
    if !findings.contains(where: { $0.severity == .problem }), let fine = reachable(device) {
      findings.append(fine)
    }
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
    if device.isStale {
      return [
        AddresseeFinding(
          .problem, "APNs reported the token of the instance, \(name), as invalid. Nothing is sent to it.",
          since: device.refusal?.at, advice: "Let the app register again.", device: name)
      ]
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

  // MARK: - App and route

  private func target(_ device: DeviceFacts, _ metadata: DeviceMetadata) -> [AddresseeFinding] {
    let name = facts.shown(device.token)
    guard let app = metadata.bundleID ?? facts.fleet.defaultApp else {
      guard facts.fleet.hasNoDefaultApp, !facts.fleet.isPollingOnly else { return [] }
      return [
        AddresseeFinding(
          .problem, "Device \(name) is registered for no app, and the workers have no default app.",
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
    let environment = metadata.environment?.rawValue ?? facts.fleet.defaultEnvironment
    guard let route = facts.fleet.pausedRoute(of: app, environment) else { return [] }
    return [
      AddresseeFinding(
        .problem,
        "The route \(route.topic) (\(route.environment.rawValue)) is paused, because APNs refuses it: \(route.reason).",
        since: route.since, advice: PushReason.sentence(PushReason.of(route.reason).fix), device: name)
    ]
  }

  // MARK: - Refusals

  /// A device of the user was removed. A problem only if the user has no other.
  func removed(_ note: RefusalNote) -> AddresseeFinding {
    let name = facts.shown(note.token ?? "")
    return AddresseeFinding(
      facts.devices.isEmpty ? .problem : .fact,
      "Device \(name) was removed: APNs refused it with \(described(note)), job \(note.jobID).", since: note.at,
      advice: advice(note), device: name)
  }

  private func described(_ note: RefusalNote) -> String {
    "\(Words.named(note.reason)) (\(note.status), \(note.environment.rawValue), \(note.topic))"
  }

  private func refusal(_ device: DeviceFacts, _ note: RefusalNote) -> AddresseeFinding {
    let name = facts.shown(device.token)
    let isStale = PushReason.of(note.reason).isOfToken
    let what = "APNs refused device \(name) with \(described(note))"
    let job = note.jobID.isEmpty ? "" : ", job \(note.jobID)"
    guard let metadata = device.metadata else {
      let removed = isStale ? " It was removed then, unless it was registered under no user and no app." : ""
      return AddresseeFinding(
        isStale ? .problem : .warning, "\(what)\(job).\(removed)", since: note.at, advice: advice(note), device: name)
    }
    guard metadata.updatedAt <= note.at else {
      return AddresseeFinding(
        .fact, "\(what)\(job); it has been registered again since then.", since: note.at, device: name)
    }
    return AddresseeFinding(
      isStale ? .problem : .warning, "\(what)\(job).", since: note.at, advice: advice(note), device: name)
  }

  /// A token of the other environment is refused as invalid.
  private func advice(_ note: RefusalNote) -> String? {
    guard note.reason == "BadDeviceToken" else { return PushReason.of(note.reason).advice }
    let other = note.environment == .production ? PushEnvironment.sandbox : .production
    return "The token may be of \(other.rawValue): builds from Xcode have sandbox tokens, TestFlight and the App Store "
      + "production tokens. Register with the right environment, or see APNS_USE_SANDBOX."
  }

  private func reachable(_ device: DeviceFacts) -> AddresseeFinding? {
    guard let metadata = device.metadata else { return nil }
    let name = facts.shown(device.token)
    let app = metadata.bundleID ?? facts.fleet.defaultApp
    let environment = metadata.environment?.rawValue ?? facts.fleet.defaultEnvironment
    let place = [app, environment].compactMap { $0 }.joined(separator: ", ")
    return AddresseeFinding(
      .fact, "Device \(name) is registered\(place.isEmpty ? "" : " for \(place)").", since: metadata.updatedAt,
      device: name)
  }
}
