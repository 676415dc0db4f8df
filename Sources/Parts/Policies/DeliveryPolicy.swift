import Jobs
import JSON
import Operations

/// The rules for notifications to instances: which classes there are, when they may be sent, and which tone their text
/// may have.
///
/// ``builtIn`` is the built-in policy. A policy file adapts it and defines others (docs/policy.md).
struct DeliveryPolicy: Sendable, Equatable {
  /// Letters, digits and `_`. Part of the key of the policy's state in Redis.
  var name: String
  /// The title of every notification.
  var title: String
  /// The name of the payload member beside `aps`.
  var member: String
  var classes: [PolicyClass]
  /// Limits per instance over all classes together. At least one, which bounds the size of an instance's state.
  var limits: [RateLimit]
  /// Nil if the policy has no quiet hours.
  var quietHours: QuietHours?
  var rhythm = SocialRhythm()
  var tone = ToneRules.standard
  /// The minimum number of seconds between two attempts at a job.
  var retrySeconds: Int64 = 0

  /// The built-in policy of docs/policy.md, without quiet hours, which `MARTLET_QUIET_HOURS` sets.
  static let builtIn = DeliveryPolicy(
    name: "nyra", title: "Nyra", member: "nyra",
    classes: [
      PolicyClass(
        name: "attention_ping", urgency: .low, preview: "There’s something to review when you’re free.",
        collapse: .init(seconds: 60, isShared: true), quiet: .deferCollapsed),
      PolicyClass(
        name: "action_needed", urgency: .medium, preview: "Action needed: a decision is pending.", quiet: .suppress),
      PolicyClass(
        name: "message_delivered", urgency: .low, preview: "A new message is available.",
        collapse: .init(seconds: 60, isShared: true), quiet: .deferCollapsed),
      PolicyClass(
        name: "safety_critical", urgency: .high, preview: "A safety notice is available.", spacingSeconds: 120,
        quiet: .pass),
    ],
    limits: [RateLimit(count: 3, seconds: 300), RateLimit(count: 20, seconds: 86_400)], retrySeconds: 60)
}

/// A notification class: one kind of notification and how its policy treats it.
struct PolicyClass: Sendable, Equatable {
  enum Urgency: String, Sendable, CaseIterable { case low, medium, high }

  /// What happens to a notification in quiet hours.
  enum QuietBehaviour: String, Sendable, CaseIterable {
    /// The first one is held until quiet hours end. Later ones are suppressed.
    case deferCollapsed
    case suppress
    case pass
  }

  /// A period in which at most one notification is sent.
  struct Collapse: Sendable, Equatable {
    var seconds: Int64
    /// Whether notifications of the policy's other shared classes count too.
    var isShared: Bool
  }

  /// The value of a job's `class`: letters, digits and `_`, unique over all policies.
  var name: String
  var urgency: Urgency
  /// The text of a job without a `preview`.
  var preview: String
  var collapse: Collapse?
  /// The minimum number of seconds between two notifications of this class.
  var spacingSeconds: Int64 = 0
  var quiet: QuietBehaviour
}

/// At most `count` notifications in any period of `seconds`.
struct RateLimit: Sendable, Equatable {
  var count: Int
  var seconds: Int64

  /// Returns whether everything that `other` allows is allowed here too, and more.
  func isLooser(than other: RateLimit) -> Bool {
    self != other && count >= other.count && seconds <= other.seconds
  }
}

/// Settings with which an operator makes a policy quieter. The default changes nothing.
struct SocialRhythm: Sendable, Equatable {
  /// Classes of low urgency are suppressed for this many minutes before quiet hours begin.
  var suppressBeforeQuietMinutes: Int64 = 0
  /// The class that all notifications of low urgency are shown as, or nil to show their own. The rules that apply are those
  /// of their own class.
  var lowClass: String?
  /// Every collapse period lasts at least this many seconds.
  var collapseSeconds: Int64 = 0
}

extension DeliveryPolicy {
  private static let ownKeys = ["title", "member", "classes"]
  private static let keysForAll = ["name", "limits", "quietHours", "rhythm", "tone", "retrySeconds"]
  private static let maximumClasses = 32
  private static let maximumLimits = 8
  private static let maximumRetrySeconds: Int64 = 900

  /// Reads a policy that the file defines and reports all faults. Nil if the policy is not an object with a name.
  init?(_ value: JSONValue, _ path: String, quietHours: QuietHours?, _ reader: inout JSONFieldReader) {
    guard let object = reader.object(value, path, names: DeliveryPolicy.ownKeys + DeliveryPolicy.keysForAll) else {
      return nil
    }
    reader.require(object, "name", "title", "classes", "limits")
    let name = reader.className(object, "name")
    self.init(
      name: name ?? "", title: reader.text(object, "title", length: 1...64) ?? "",
      member: reader.className(object, "member") ?? name ?? "",
      classes: reader.list(object, "classes", count: 1...DeliveryPolicy.maximumClasses).map { value, path in
        PolicyClass(value, path, &reader)
      },
      limits: reader.list(object, "limits", count: 1...DeliveryPolicy.maximumLimits).compactMap { value, path in
        RateLimit(value, path, &reader)
      })
    if member == "aps" {
      reader.report(object.place("member"), seen: "\"aps\"", expected: "another name: aps belongs to Apple")
    }
    self.quietHours = quietHours
    retrySeconds = reader.integer(object, "retrySeconds", in: 0...DeliveryPolicy.maximumRetrySeconds) ?? 0
    readOperatorSettings(object, &reader)
    if let tone = object["tone"] { readTone(tone, object.place("tone"), isLocked: false, &reader) }
    for (place, notificationClass) in classes.enumerated() {
      guard let fault = tone.fault(in: notificationClass.preview) else { continue }
      reader.report("\(path).classes[\(place)].preview", seen: "\(fault)", expected: "a text that keeps the tone")
    }
    if name == nil { return nil }
  }

  /// Returns the built-in policy with the settings of the file. What its document has locked can only become stricter.
  func adapted(by value: JSONValue, _ path: String, _ reader: inout JSONFieldReader) -> DeliveryPolicy? {
    guard let object = reader.object(value, path, names: DeliveryPolicy.ownKeys + DeliveryPolicy.keysForAll) else {
      return nil
    }
    for key in DeliveryPolicy.ownKeys {
      guard let value = object[key] else { continue }
      reader.report(object.place(key), value, expected: "nothing: the document of policy \(name) locks it")
    }
    var policy = self
    for (value, path) in reader.list(object, "limits", count: 1...DeliveryPolicy.maximumLimits) {
      guard let limit = RateLimit(value, path, &reader) else { continue }
      if let locked = limits.first(where: limit.isLooser) {
        reader.report(
          path, value,
          expected: "a limit stricter than the locked one of \(locked.count) in \(locked.seconds) s")
      }
      policy.limits.append(limit)
    }
    let seconds = reader.integer(object, "retrySeconds", in: retrySeconds...DeliveryPolicy.maximumRetrySeconds)
    policy.retrySeconds = seconds ?? retrySeconds
    policy.readOperatorSettings(object, &reader)
    if let tone = object["tone"] { policy.readTone(tone, object.place("tone"), isLocked: true, &reader) }
    return policy
  }

  private mutating func readOperatorSettings(_ object: JSONFields, _ reader: inout JSONFieldReader) {
    if let value = object["quietHours"] {
      let text = value.string
      quietHours = text.flatMap(QuietHours.init)
      if quietHours == nil, text != "off" {
        reader.report(object.place("quietHours"), value, expected: QuietHours.expected)
      }
    }
    if let value = object["rhythm"] { rhythm = SocialRhythm(value, object.place("rhythm"), of: self, &reader) }
  }

  private mutating func readTone(_ value: JSONValue, _ path: String, isLocked: Bool, _ reader: inout JSONFieldReader) {
    guard let object = reader.object(value, path, names: ["standard", "phrases"]) else { return }
    if reader.boolean(object, "standard") == false {
      if isLocked {
        reader.report(
          object.place("standard"), seen: "false", expected: "true: the document of policy \(name) locks it")
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

extension PolicyClass {
  /// One day.
  static let maximumSeconds: Int64 = 86_400

  /// Reports missing and invalid fields, and replaces them with placeholders.
  init(_ value: JSONValue, _ path: String, _ reader: inout JSONFieldReader) {
    self.init(name: "", urgency: .low, preview: "", quiet: .suppress)
    let keys = ["name", "urgency", "preview", "collapse", "spacingSeconds", "quiet"]
    guard let object = reader.object(value, path, names: keys) else { return }
    reader.require(object, "name", "urgency", "preview", "quiet")
    name = reader.className(object, "name") ?? path
    urgency = reader.choice(object, "urgency", of: Urgency.self) ?? .low
    preview = reader.text(object, "preview", length: JobDraft.previewLength) ?? ""
    quiet = reader.choice(object, "quiet", of: QuietBehaviour.self) ?? .suppress
    spacingSeconds = reader.integer(object, "spacingSeconds", in: 0...PolicyClass.maximumSeconds) ?? 0
    guard let window = object["collapse"] else { return }
    guard let window = reader.object(window, object.place("collapse"), names: ["seconds", "shared"]) else { return }
    reader.require(window, "seconds")
    let seconds = reader.integer(window, "seconds", in: 1...PolicyClass.maximumSeconds)
    collapse = Collapse(seconds: seconds ?? 1, isShared: reader.boolean(window, "shared") ?? false)
  }
}

extension RateLimit {
  /// Bounds the size of an instance's state.
  static let maximumCount: Int64 = 200
  /// 31 days.
  static let maximumSeconds: Int64 = 2_678_400

  init?(_ value: JSONValue, _ path: String, _ reader: inout JSONFieldReader) {
    guard let object = reader.object(value, path, names: ["count", "seconds"]) else { return nil }
    reader.require(object, "count", "seconds")
    let count = reader.integer(object, "count", in: 1...RateLimit.maximumCount)
    let seconds = reader.integer(object, "seconds", in: 1...RateLimit.maximumSeconds)
    guard let count, let seconds else { return nil }
    self.init(count: Int(count), seconds: seconds)
  }
}

extension SocialRhythm {
  private static let maximumMinutes: Int64 = 720
  private static let asSent = "as_sent"

  init(_ value: JSONValue, _ path: String, of policy: DeliveryPolicy, _ reader: inout JSONFieldReader) {
    self.init()
    let keys = ["suppressBeforeQuietMinutes", "lowClass", "collapseSeconds"]
    guard let object = reader.object(value, path, names: keys) else { return }
    suppressBeforeQuietMinutes =
      reader.integer(object, "suppressBeforeQuietMinutes", in: 0...SocialRhythm.maximumMinutes) ?? 0
    let shortest = policy.classes.compactMap(\.collapse?.seconds).min() ?? 0
    collapseSeconds = reader.integer(object, "collapseSeconds", in: shortest...PolicyClass.maximumSeconds) ?? 0
    guard let value = object["lowClass"], value.string != SocialRhythm.asSent else { return }
    let low = policy.classes.filter { $0.urgency == .low }.map(\.name)
    lowClass = value.string.flatMap { low.contains($0) ? $0 : nil }
    if lowClass == nil {
      let known = ([SocialRhythm.asSent] + low).joined(separator: ", ")
      reader.report(object.place("lowClass"), value, expected: "one of \(known)")
    }
  }
}
