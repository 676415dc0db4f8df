import PushModel
import Registry

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
    let what = "APNs refused device \(name) with \(described(note))\(job)"
    func finding(_ severity: Finding.Severity, _ text: String, _ fix: String? = nil) -> Finding {
      Finding(severity, what + text, since: note.at, fix: fix, subject: name)
    }
    guard let metadata = device.metadata else {
      let isStale = PushReason.of(note.reason).isOfToken
      let removed = isStale ? " It was removed then, unless it was registered under no user and no app." : ""
      return finding(isStale ? .problem : .warning, ".\(removed)", adviceOfRemoved(note))
    }
    guard metadata.updatedAt <= note.at else { return finding(.fact, "; it has been registered again since then.") }
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
