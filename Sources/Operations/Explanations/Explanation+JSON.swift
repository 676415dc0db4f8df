public import JSON

extension JobExplanation {
  /// `{"id","state","status"?,"outcome","steps":[{"at"?,"kind","sentence"}…],"next"?,"advice"?}`, times in unix ms.
  public var object: JSONObject {
    [
      "id": id, "state": state.rawValue, "status": status, "outcome": outcome, "steps": steps.map(\.object),
      "next": next?.object, "advice": advice,
    ]
  }
}

extension ExplainedStep {
  fileprivate var object: JSONObject { ["at": at, "kind": kind.rawValue, "sentence": sentence] }
}

extension AddresseeExplanation {
  /// `{"subject","reachable","outcome","findings":[{"severity","sentence","since"?,"device"?,"advice"?}…]}`, times in unix ms.
  public var object: JSONObject {
    ["subject": subject, "reachable": isReachable, "outcome": outcome, "findings": findings.map(\.object)]
  }
}

extension AddresseeFinding {
  fileprivate var object: JSONObject {
    ["severity": severity.rawValue, "sentence": sentence, "since": since, "device": device, "advice": advice]
  }
}
