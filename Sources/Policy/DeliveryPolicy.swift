/// The rules for notifications to instances: which classes there are, when they may be sent, and which tone their text
/// may have.
///
/// ``builtIn`` is the built-in policy. A policy file adapts it and defines others (docs/policy.md).
public struct DeliveryPolicy: Sendable, Equatable {
  /// Letters, digits and `_`. Part of the key of the policy's state in Redis.
  public var name: String
  /// The title of every notification.
  public var title: String
  /// The name of the payload member beside `aps`.
  public var member: String
  public var classes: [PolicyClass]
  /// Limits per instance over all classes together. At least one, which bounds the size of an instance's state.
  public var limits: [RateLimit]
  /// Nil if the policy has no quiet hours.
  public var quietHours: QuietHours?
  public var rhythm = SocialRhythm()
  public var tone = ToneRules.standard
  /// The minimum number of seconds between two attempts at a job.
  public var retrySeconds: Int64 = 0

  /// The built-in policy of docs/policy.md, without quiet hours, which `MARTLET_QUIET_HOURS` sets.
  public static let builtIn = DeliveryPolicy(
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
public struct PolicyClass: Sendable, Equatable {
  public enum Urgency: String, Sendable, CaseIterable { case low, medium, high }

  /// What happens to a notification in quiet hours.
  public enum QuietBehaviour: String, Sendable, CaseIterable {
    /// The first one is held until quiet hours end. Later ones are suppressed.
    case deferCollapsed
    case suppress
    case pass
  }

  /// A period in which at most one notification is sent.
  public struct Collapse: Sendable, Equatable {
    public var seconds: Int64
    /// Whether notifications of the policy's other shared classes count too.
    public var isShared: Bool
  }

  /// The value of a job's `class`: letters, digits and `_`, unique over all policies.
  public var name: String
  public var urgency: Urgency
  /// The text of a job without a `preview`.
  public var preview: String
  public var collapse: Collapse?
  /// The minimum number of seconds between two notifications of this class.
  public var spacingSeconds: Int64 = 0
  public var quiet: QuietBehaviour
}

/// At most `count` notifications in any period of `seconds`.
public struct RateLimit: Sendable, Equatable {
  public var count: Int
  public var seconds: Int64

  /// Returns whether everything that `other` allows is allowed here too, and more.
  func isLooser(than other: RateLimit) -> Bool {
    self != other && count >= other.count && seconds <= other.seconds
  }
}

/// Settings with which an operator makes a policy quieter. The default changes nothing.
public struct SocialRhythm: Sendable, Equatable {
  /// Classes of low urgency are suppressed for this many minutes before quiet hours begin.
  public var suppressBeforeQuietMinutes: Int64 = 0
  /// The class that all notifications of low urgency are shown as, or nil to show their own. The rules that apply are those
  /// of their own class.
  public var lowClass: String?
  /// Every collapse period lasts at least this many seconds.
  public var collapseSeconds: Int64 = 0
}
