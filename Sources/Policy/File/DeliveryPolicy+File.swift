import JSON

extension DeliveryPolicy {
  private static let ownKeys = ["title", "member", "classes"]
  private static let keysForAll = ["name", "limits", "quietHours", "rhythm", "tone", "retrySeconds"]
  private static let maximumClasses = 32
  private static let maximumLimits = 8
  private static let maximumRetrySeconds: Int64 = 900

  /// A policy of the file's own. Nil when too much is wrong to go on; all faults have been reported.
  init?(_ value: JSONValue, _ path: String, quietHours: QuietHours?, _ reader: inout PolicyReader) {
    guard let object = reader.object(value, path, keys: DeliveryPolicy.ownKeys + DeliveryPolicy.keysForAll) else {
      return nil
    }
    reader.require(object, "name", "title", "classes", "limits")
    let name = reader.name(object, "name")
    self.init(
      name: name ?? "", title: reader.text(object, "title", length: 1...64) ?? "",
      member: reader.name(object, "member") ?? name ?? "",
      classes: reader.list(object, "classes", count: 1...DeliveryPolicy.maximumClasses).map { value, path in
        PolicyClass(value, path, &reader)
      },
      limits: reader.list(object, "limits", count: 1...DeliveryPolicy.maximumLimits).compactMap { value, path in
        RateLimit(value, path, &reader)
      })
    if member == "aps" {
      reader.report(object.path("member"), seen: "\"aps\"", expected: "another name: aps is Apple's")
    }
    self.quietHours = quietHours
    retrySeconds = reader.integer(object, "retrySeconds", in: 0...DeliveryPolicy.maximumRetrySeconds) ?? 0
    readOwnerSettings(object, &reader)
    if let tone = object["tone"] { readTone(tone, object.path("tone"), isLocked: false, &reader) }
    for (place, notificationClass) in classes.enumerated() {
      guard let fault = tone.fault(in: notificationClass.preview) else { continue }
      reader.report("\(path).classes[\(place)].preview", seen: "\(fault)", expected: "a text that keeps the tone")
    }
    if name == nil { return nil }
  }

  /// The built-in policy with an owner's settings: what its document has locked only gets stricter.
  func adapted(by value: JSONValue, _ path: String, _ reader: inout PolicyReader) -> DeliveryPolicy? {
    guard let object = reader.object(value, path, keys: DeliveryPolicy.ownKeys + DeliveryPolicy.keysForAll) else {
      return nil
    }
    for key in DeliveryPolicy.ownKeys {
      guard let value = object[key] else { continue }
      reader.report(object.path(key), value, expected: "nothing: the document of policy \(name) has it locked")
    }
    var policy = self
    for (value, path) in reader.list(object, "limits", count: 1...DeliveryPolicy.maximumLimits) {
      guard let limit = RateLimit(value, path, &reader) else { continue }
      if let locked = limits.first(where: limit.isLooser) {
        reader.report(
          path, value,
          expected: "a limit that is stricter than the locked one of \(locked.count) in \(locked.seconds) s")
      }
      policy.limits.append(limit)
    }
    let seconds = reader.integer(object, "retrySeconds", in: retrySeconds...DeliveryPolicy.maximumRetrySeconds)
    policy.retrySeconds = seconds ?? retrySeconds
    policy.readOwnerSettings(object, &reader)
    if let tone = object["tone"] { policy.readTone(tone, object.path("tone"), isLocked: true, &reader) }
    return policy
  }

  private mutating func readOwnerSettings(_ object: PolicyObject, _ reader: inout PolicyReader) {
    if let value = object["quietHours"] {
      let text = value.string
      quietHours = text.flatMap(QuietHours.init)
      if quietHours == nil, text != "off" {
        reader.report(object.path("quietHours"), value, expected: QuietHours.expected)
      }
    }
    if let value = object["rhythm"] { rhythm = SocialRhythm(value, object.path("rhythm"), of: self, &reader) }
  }

  private mutating func readTone(_ value: JSONValue, _ path: String, isLocked: Bool, _ reader: inout PolicyReader) {
    guard let object = reader.object(value, path, keys: ["standard", "phrases"]) else { return }
    if reader.boolean(object, "standard") == false {
      if isLocked {
        reader.report(
          object.path("standard"), seen: "false", expected: "true: the document of policy \(name) has it locked")
      } else {
        tone = .none
      }
    }
    for (phrase, path) in reader.list(object, "phrases", count: 0...ToneRules.maximumAdded) {
      guard let text = phrase.string, text.unicodeScalars.count <= ToneRules.maximumPhraseLength,
        let rules = tone.adding(text)
      else {
        reader.report(path, phrase, expected: "words, at most \(ToneRules.maximumPhraseLength) characters")
        continue
      }
      tone = rules
    }
  }
}

extension ToneRules {
  static let maximumAdded = 200
  static let maximumPhraseLength = 100
}
