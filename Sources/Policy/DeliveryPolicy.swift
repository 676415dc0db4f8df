/// Rules for notifications to instances: which classes there are, when they may be sent, what their text may say.
///
/// The built-in one is ``nyra``, docs/policy.md says how others are defined.
public struct DeliveryPolicy: Sendable, Equatable {
  /// Letters, digits and `_`; names the state in Redis.
  public var name: String
  /// The title of every notification.
  public var title: String
  /// The member of the payload beside `aps`.
  public var member: String
  public var classes: [PolicyClass]
  /// For all classes together, per instance; at least one, so that what is remembered of an instance is bounded.
  public var limits: [RateLimit]
  /// Nil: none.
  public var quietHours: QuietHours?
  public var rhythm = SocialRhythm()
  public var tone = ToneRules.standard
  /// Seconds between attempts at a job, at least.
  public var retrySeconds: Int64 = 0
}
