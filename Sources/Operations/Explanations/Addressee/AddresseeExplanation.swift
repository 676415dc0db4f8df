public import JSON

/// Whom an explanation is about.
public enum InspectedAddressee: Sendable, Equatable {
  /// A normalised username.
  case user(String)
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
