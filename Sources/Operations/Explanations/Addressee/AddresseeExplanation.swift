public import JSON

/// Whom an explanation is about.
public enum InspectedAddressee: Sendable, Equatable {
  /// A normalised username.
  case user(String)
  case token(String)
  case instance(String)
}

/// Something that decides whether an addressee gets pushes.
public struct AddresseeFinding: Sendable, Equatable {
  public enum Severity: String, Sendable, CaseIterable {
    /// The addressee, or one of its devices, gets nothing because of it.
    case problem
    /// Some pushes may not arrive because of it.
    case warning
    /// How things are.
    case fact
  }

  public var severity: Severity
  public var sentence: String
  /// Unix ms; nil if it is unknown.
  public var since: Int64?
  /// What to do; nil if nothing needs to be done.
  public var advice: String?
  /// The device that the finding is about, shortened unless whole tokens were asked for; nil for all.
  public var device: String?

  init(
    _ severity: Severity, _ sentence: String, since: Int64? = nil, advice: String? = nil, device: String? = nil
  ) {
    self.severity = severity
    self.sentence = sentence
    self.since = since
    self.advice = advice
    self.device = device
  }

  fileprivate var object: JSONObject {
    ["severity": severity.rawValue, "sentence": sentence, "since": since, "device": device, "advice": advice]
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
  public var findings: [AddresseeFinding]

  /// `{"subject","reachable","outcome","findings":[{"severity","sentence","since"?,"device"?,"advice"?}…]}`, times in unix ms.
  public var object: JSONObject {
    ["subject": subject, "reachable": isReachable, "outcome": outcome, "findings": findings.map(\.object)]
  }
}
