/// A job's class and the policy that it belongs to.
///
/// An object: most jobs have none, and should carry no more than that.
public final class PolicyMatch: Sendable {
  public let policy: DeliveryPolicy
  public let notificationClass: PolicyClass

  init(policy: DeliveryPolicy, notificationClass: PolicyClass) {
    self.policy = policy
    self.notificationClass = notificationClass
  }

  /// The class that the notification names: the owner may want all low ones shown as one.
  public var shownClass: PolicyClass {
    guard notificationClass.urgency == .low, let name = policy.rhythm.lowClass else { return notificationClass }
    return policy.classes.first { $0.name == name } ?? notificationClass
  }
}
