public import Jobs

/// All delivery policies, indexed by the names of their classes.
public struct PolicyBook: Sendable, Equatable {
  /// The maximum number of class names in an error.
  private static let maximumListed = 20

  public let policies: [DeliveryPolicy]
  private let matches: [String: PolicyMatch]

  public static func == (first: PolicyBook, second: PolicyBook) -> Bool { first.policies == second.policies }

  /// Class names must be unique over all policies, which ``PolicyFile`` checks.
  public init(_ policies: [DeliveryPolicy]) {
    self.policies = policies
    let all = policies.flatMap { policy in
      policy.classes.map { ($0.name, PolicyMatch(policy: policy, notificationClass: $0)) }
    }
    matches = Dictionary(all, uniquingKeysWith: { first, _ in first })
  }

  /// The built-in policy alone, with the standard quiet hours.
  public static let standard: PolicyBook = {
    var policy = DeliveryPolicy.builtIn
    policy.quietHours = .standard
    return PolicyBook([policy])
  }()

  /// Returns the class of a job and its policy, or nil if the job has no class. Throws if there is no such class, or if the
  /// preview breaks the policy's rules of tone.
  public func match(_ job: Job) throws(JobError) -> PolicyMatch? {
    guard case .classed(let name, let preview) = job.content else { return nil }
    guard let match = matches[name] else {
      let known = matches.keys.sorted()
      let list = known.prefix(PolicyBook.maximumListed).joined(separator: ", ")
      let more = known.count > PolicyBook.maximumListed ? ", …" : ""
      throw JobError(reason: "class: no policy has a class \"\(name)\"; known are \(list)\(more)")
    }
    if let fault = preview.flatMap(match.policy.tone.fault(in:)) {
      throw JobError(reason: "preview: \(fault.description)")
    }
    return match
  }
}

/// The class of a job and the policy that defines it.
///
/// A class, not a structure, so that the many jobs without one carry a single pointer.
public final class PolicyMatch: Sendable {
  public let policy: DeliveryPolicy
  public let notificationClass: PolicyClass

  init(policy: DeliveryPolicy, notificationClass: PolicyClass) {
    self.policy = policy
    self.notificationClass = notificationClass
  }

  /// The class that the notification names: ``SocialRhythm/lowClass`` for a class of low urgency if it is set.
  public var shownClass: PolicyClass {
    guard notificationClass.urgency == .low, let name = policy.rhythm.lowClass else { return notificationClass }
    return policy.classes.first { $0.name == name } ?? notificationClass
  }
}
