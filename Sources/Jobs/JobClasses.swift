/// The notification classes that jobs may name. A part defines them.
public protocol JobClasses: Sendable {
  /// Throws if there is no such class, or if the preview is not allowed.
  func terms(of name: String, preview: String?) throws(JobError) -> any ClassTerms
}

/// What the class of a job means for it.
///
/// A class, so that the many jobs without one carry little.
public protocol ClassTerms: AnyObject, Sendable {
  /// The names in the job's history.
  var policyName: String { get }
  var className: String { get }

  /// The least time between two attempts, in seconds.
  var retrySeconds: Int64 { get }

  /// Returns the APNs priority of a job that asks for this one.
  func priority(_ asked: Int) -> Int

  /// Returns the payload for a job to an instance.
  func payload(to instance: String, preview: String?) -> [UInt8]
}

extension Job {
  /// Returns the terms of the job's class, nil if it has none. Throws if the class is not one of `classes`, which are nil in a program
  /// without classes.
  public func terms(in classes: (any JobClasses)?) throws(JobError) -> (any ClassTerms)? {
    guard case .classed(let name, let preview) = content else { return nil }
    guard let classes else { throw JobError(reason: "class: this program has no delivery policies") }
    return try classes.terms(of: name, preview: preview)
  }
}

/// The rule that suppressed a notification. The raw value is the `reason` of the job's record.
public enum SuppressionReason: String, Sendable, CaseIterable {
  case limit, collapsed, spacing, rhythm
  case quietHours = "quiet_hours"
}
