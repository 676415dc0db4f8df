/// A notification class: one kind of notification, and what its policy does with it.
public struct PolicyClass: Sendable, Equatable {
  public enum Urgency: String, Sendable, CaseIterable { case low, medium, high }

  /// What becomes of it in quiet hours.
  public enum QuietBehaviour: String, Sendable, CaseIterable {
    /// The first one waits until they are over, those after it are suppressed.
    case deferCollapsed
    case suppress
    case pass
  }

  /// A time within which there is at most one notification.
  public struct Collapse: Sendable, Equatable {
    public var seconds: Int64
    /// Notifications of the policy's other classes that share count, too.
    public var isShared: Bool
  }

  /// What a job's `class` says: letters, digits and `_`, unique over all policies.
  public var name: String
  public var urgency: Urgency
  /// The text of a job without a preview.
  public var preview: String
  public var collapse: Collapse?
  /// Seconds between two of this class, at least.
  public var spacingSeconds: Int64 = 0
  public var quiet: QuietBehaviour
}
