public import JSON

extension JobExplanation {
  /// Writes `{"id","state","status"?,"outcome","steps":[{"at"?,"kind","sentence"}…],"next"?,"advice"?}`, times in unix ms.
  public func write(to json: inout JSONWriter) {
    json.beginObject()
    json.text("id", id)
    json.text("state", state.rawValue)
    json.text("status", status)
    json.text("outcome", outcome)
    json.key("steps")
    json.beginArray()
    for step in steps { step.write(to: &json) }
    json.endArray()
    if let next {
      json.key("next")
      next.write(to: &json)
    }
    json.text("advice", advice)
    json.endObject()
  }
}

extension ExplainedStep {
  fileprivate func write(to json: inout JSONWriter) {
    json.beginObject()
    json.time("at", at)
    json.text("kind", kind.rawValue)
    json.text("sentence", sentence)
    json.endObject()
  }
}

extension AddresseeExplanation {
  /// Writes `{"subject","reachable","outcome","findings":[{"severity","sentence","since"?,"device"?,"advice"?}…]}`, times in
  /// unix ms.
  public func write(to json: inout JSONWriter) {
    json.beginObject()
    json.text("subject", subject)
    json.key("reachable")
    json.bool(isReachable)
    json.text("outcome", outcome)
    json.key("findings")
    json.beginArray()
    for finding in findings { finding.write(to: &json) }
    json.endArray()
    json.endObject()
  }
}

extension AddresseeFinding {
  fileprivate func write(to json: inout JSONWriter) {
    json.beginObject()
    json.text("severity", severity.rawValue)
    json.text("sentence", sentence)
    json.time("since", since)
    json.text("device", device)
    json.text("advice", advice)
    json.endObject()
  }
}

extension JSONWriter {
  /// Writes nothing if `value` is nil.
  fileprivate mutating func text(_ name: StaticString, _ value: String?) {
    guard let value else { return }
    key(name)
    string(value)
  }

  fileprivate mutating func time(_ name: StaticString, _ value: Int64?) {
    guard let value else { return }
    key(name)
    integer(value)
  }
}
