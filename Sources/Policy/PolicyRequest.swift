/// A job that asks its policy.
public struct PolicyRequest: Sendable, Equatable {
  /// The nonce of its envelope.
  public var job: String
  public var notificationClass: PolicyClass
  /// Unix ms; nil: never.
  public var expiration: Int64?

  public init(job: String, notificationClass: PolicyClass, expiration: Int64?) {
    self.job = job
    self.notificationClass = notificationClass
    self.expiration = expiration
  }
}
