public import Jobs

/// All delivery policies, by the names of their classes.
public struct PolicyBook: Sendable {
  /// Names that a reason lists at most.
  private static let maximumListed = 20

  public let policies: [DeliveryPolicy]
  private let matches: [String: PolicyMatch]

  /// Names of classes are unique: ``PolicyFile`` sees to it.
  public init(_ policies: [DeliveryPolicy]) {
    self.policies = policies
    let all = policies.flatMap { policy in
      policy.classes.map { ($0.name, PolicyMatch(policy: policy, notificationClass: $0)) }
    }
    matches = Dictionary(all, uniquingKeysWith: { first, _ in first })
  }

  /// The built-in policy alone, in its standard quiet hours.
  public static let standard: PolicyBook = {
    var nyra = DeliveryPolicy.nyra
    nyra.quietHours = .standard
    return PolicyBook([nyra])
  }()

  /// The policy of a job and its class; nil for a job without a class. Throws when there is no such class, or when the
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
