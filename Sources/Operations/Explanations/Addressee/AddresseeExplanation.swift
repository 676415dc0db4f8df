import Jobs
public import JSON
public import PushModel
import Registry

/// Whom an explanation is about.
public enum InspectedAddressee: Sendable, Equatable {
  case user(Username)
  case token(String)
  case instance(String)

  /// `user alice`, `token 0000feed…` or `instance home`. `shown` is what is shown of a token.
  public func subject(_ shown: (String) -> String) -> String {
    switch self {
    case .user(let name): "user \(name)"
    case .token(let token): "token \(shown(token))"
    case .instance(let id): "instance \(id)"
    }
  }
}

/// Why an addressee gets pushes or gets none.
public struct AddresseeExplanation: Sendable, Equatable {
  /// `user alice`, `token 0000feed…` or `instance home`.
  public var subject: String
  /// Whether anything is known of the addressee.
  public var isKnown: Bool
  /// Whether at least one device can be reached, as far as is known.
  public var isReachable: Bool
  /// The answer, in one sentence.
  public var outcome: String
  /// Problems first.
  public var findings: [Finding]

  package init(subject: String, isKnown: Bool, isReachable: Bool, outcome: String, findings: [Finding]) {
    self.subject = subject
    self.isKnown = isKnown
    self.isReachable = isReachable
    self.outcome = outcome
    self.findings = findings
  }

  /// `{"subject","reachable","outcome","findings":[{"severity","sentence","since"?,"device"?,"advice"?}…]}`, times in unix ms.
  public var object: JSONObject {
    ["subject": subject, "reachable": isReachable, "outcome": outcome, "findings": findings.map(\.object)]
  }
}

extension Finding {
  fileprivate var object: JSONObject {
    ["severity": severity.rawValue, "sentence": text, "since": since, "device": subject, "advice": fix]
  }
}

extension AddresseeExplanation {
  /// Explains an addressee from what is known of it. A pure function.
  init(_ facts: AddresseeFacts) {
    let perDevice = facts.devices.map { DeviceFindings(facts: facts).findings($0) }
    let fleet = AddresseeExplanation.fleet(facts)
    var findings = fleet + perDevice.flatMap { $0 }
    if facts.devices.isEmpty { findings.append(AddresseeExplanation.nothing(facts.addressee)) }
    if let sentence = AddresseeExplanation.lackOfAppTokens(facts) {
      findings.append(Finding(.warning, sentence))
    }
    findings += AddresseeExplanation.others(facts)
    findings = findings.bySeverity
    let reached = zip(facts.devices, perDevice).count { device, findings in
      device.metadata != nil && device.removal == nil && !findings.contains { $0.severity == .problem }
    }
    let isBlocked = fleet.contains { $0.severity == .problem }
    self.init(
      subject: facts.addressee.subject(facts.shown),
      isKnown: AddresseeExplanation.isKnown(facts),
      isReachable: reached > 0 && !isBlocked,
      outcome: AddresseeExplanation.outcome(facts, reached: isBlocked ? 0 : reached, findings), findings: findings)
  }

  /// What is no token has neither a registration nor a refusal.
  private static func isKnown(_ facts: AddresseeFacts) -> Bool {
    let isNamed = if case .token = facts.addressee { true } else { false }
    let hasDevice = facts.devices.contains { $0.removal != .malformedToken || !isNamed }
    return hasDevice || facts.missed != nil || facts.removal != nil
      || facts.parts.contains(where: \.isKnown)
  }

  private static func outcome(_ facts: AddresseeFacts, reached: Int, _ findings: [Finding]) -> String {
    let subject = facts.addressee.subject(facts.shown)
    guard reached > 0 else {
      let why = findings.filter { $0.severity == .problem }.map(\.text)
      // The device that is no more explains why there is none.
      let most = facts.devices.isEmpty && facts.removal != nil ? 2 : 1
      return "No push reaches \(subject). \(why.prefix(most).joined(separator: " "))"
    }
    guard case .user = facts.addressee else { return "As far as Martlet knows, pushes reach \(subject)." }
    let total = facts.devices.count
    let limit = lackOfAppTokens(facts).map { " \($0)" } ?? ""
    if reached == total, facts.setSize <= total {
      return "As far as Martlet knows, pushes reach all devices of \(subject) (\(total)).\(limit)"
    }
    return "As far as Martlet knows, pushes reach \(reached) of \(total) devices of \(subject).\(limit)"
  }

  /// What a user does not get whose devices are all of other kinds; nil for other users.
  private static func lackOfAppTokens(_ facts: AddresseeFacts) -> String? {
    guard case .user(let name) = facts.addressee else { return nil }
    let kinds = facts.registered.compactMap(\.metadata?.kind)
    guard !kinds.isEmpty, !kinds.contains(.app), facts.setSize <= facts.devices.count else { return nil }
    let counts = DeviceKind.allCases.compactMap { kind in
      let count = kinds.count { $0 == kind }
      return count == 0 ? nil : "\(kind) (\(count))"
    }
    return
      "User \(name) has no device of the kind app, only \(counts.joined(separator: ", ")), so alert and background "
      + "pushes reach none of them."
  }

  // MARK: - Findings that are not about one device

  private static func fleet(_ facts: AddresseeFacts) -> [Finding] {
    if facts.fleet.workers.isEmpty {
      return [
        Finding(
          .problem, "No worker runs, so no job is sent.",
          fix: "Start one: martlet worker. If one runs, check MARTLET_QUEUES and REDIS_URL: martlet status")
      ]
    }
    guard facts.fleet.isPollingOnly else { return [] }
    return [
      Finding(
        .problem,
        "The workers have no key for APNs (polling-only mode): nothing is pushed, but everything can be polled.",
        fix: "To push, set APNS_KEY_ID, APNS_TEAM_ID, APNS_BUNDLE_ID and APNS_PRIVATE_KEY, or MARTLET_APPS.")
    ]
  }

  private static func nothing(_ addressee: InspectedAddressee) -> Finding {
    switch addressee {
    case .user(let name):
      Finding(
        .problem, "No device is registered for user \(name).",
        fix: "Let the app register it (docs/http), under exactly this name; names are trimmed and lower-cased.")
    case .token:
      Finding(
        .problem, "The token is not registered: it never was, its registration expired, or it was removed.",
        fix: "Let the app register it. A job to the token itself is still sent.")
    case .instance(let id):
      Finding(
        .problem, "No device is registered for instance \(id).", fix: "Let the app register it (docs/http).")
    }
  }

  private static func others(_ facts: AddresseeFacts) -> [Finding] {
    var findings = owner(facts)
    let unread = facts.setSize - Int64(facts.devices.count)
    if case .user = facts.addressee, unread > 0 {
      findings.append(Finding(.fact, "\(unread) more devices were not looked at."))
    }
    // The note is written before the device is removed, which a later registration prevents.
    if let removal = facts.removal, !facts.devices.contains(where: { $0.token == removal.token?.text }) {
      findings.append(DeviceFindings(facts: facts).removed(removal))
    }
    if let missed = facts.missed {
      findings.append(
        Finding(
          .fact, "The latest notification that no push carried is of job \(missed.jobID) (\(missed.status)).",
          since: missed.at, fix: "martlet explain \(missed.jobID)"))
    }
    return findings + facts.parts.flatMap(\.findings)
  }

  /// Whose the token is.
  private static func owner(_ facts: AddresseeFacts) -> [Finding] {
    guard case .token = facts.addressee else { return [] }
    return facts.devices.flatMap { owner($0, facts) }
  }

  private static func owner(_ device: DeviceFacts, _ facts: AddresseeFacts) -> [Finding] {
    guard let metadata = device.metadata else { return [] }
    if let instance = device.instance {
      return [Finding(.fact, "It is the device of instance \(instance).", since: metadata.updatedAt)]
    }
    guard !metadata.username.isEmpty else {
      return [Finding(.fact, "It belongs to no user: only jobs to its app or to the token reach it.")]
    }
    guard facts.isInSetOfOwner else {
      return [
        Finding(
          .warning,
          "It belongs to user \(metadata.username), but is not in the user's set, so jobs to the user miss it.",
          since: metadata.updatedAt, fix: "Let the app register again.")
      ]
    }
    return [Finding(.fact, "It belongs to user \(metadata.username).", since: metadata.updatedAt)]
  }
}
