import Jobs
import JSON

/// All delivery policies, indexed by the names of their classes.
struct PolicyBook: JobClasses, Equatable {
  /// The maximum number of class names in an error.
  private static let maximumListed = 20

  let policies: [DeliveryPolicy]
  private let matches: [String: PolicyMatch]

  static func == (first: PolicyBook, second: PolicyBook) -> Bool { first.policies == second.policies }

  /// Class names must be unique over all policies, which ``PolicyFile`` checks.
  init(_ policies: [DeliveryPolicy]) {
    self.policies = policies
    let all = policies.flatMap { policy in
      policy.classes.map { ($0.name, PolicyMatch(policy: policy, notificationClass: $0)) }
    }
    matches = Dictionary(all, uniquingKeysWith: { first, _ in first })
  }

  /// The built-in policy alone, with the standard quiet hours.
  static let standard: PolicyBook = {
    var policy = DeliveryPolicy.builtIn
    policy.quietHours = .standard
    return PolicyBook([policy])
  }()

  /// Returns a class and its policy. Throws if there is no such class, or if the preview breaks the policy's rules of tone.
  func terms(of name: String, preview: String?) throws(JobError) -> any ClassTerms {
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
final class PolicyMatch: ClassTerms {
  /// The highest priority of a class of low urgency.
  private static let priorityOfLowUrgency = 5

  let policy: DeliveryPolicy
  let notificationClass: PolicyClass

  init(policy: DeliveryPolicy, notificationClass: PolicyClass) {
    self.policy = policy
    self.notificationClass = notificationClass
  }

  var policyName: String { policy.name }
  var className: String { notificationClass.name }
  var retrySeconds: Int64 { policy.retrySeconds }

  /// A class of low urgency does not wake the screen, even if the job asks for it.
  func priority(_ asked: Int) -> Int {
    notificationClass.urgency == .low ? min(asked, PolicyMatch.priorityOfLowUrgency) : asked
  }

  /// Returns the payload described in docs/policy.md.
  func payload(to instance: String, preview: String?) -> [UInt8] {
    let shown = shownClass
    var aps = Notification()
    aps.title = policy.title
    aps.body = preview ?? shown.preview
    aps.sound = .named("default")
    aps.badge = 1
    aps.contentAvailable = true
    var json = JSONWriter(capacity: 256)
    json.beginObject()
    aps.write(to: &json)
    json.key(escaping: policy.member)
    json.beginObject()
    json.member("class", shown.name)
    json.member("instance_id", instance)
    json.member("hint", "poll")
    json.endObject()
    json.endObject()
    return json.bytes
  }

  /// The class that the notification names: ``SocialRhythm/lowClass`` for a class of low urgency if it is set.
  var shownClass: PolicyClass {
    guard notificationClass.urgency == .low, let name = policy.rhythm.lowClass else { return notificationClass }
    return policy.classes.first { $0.name == name } ?? notificationClass
  }
}
