#if PART_POLICIES
  import JSON
  import Jobs
  import PushModel

  @testable import Policies

  /// A file of delivery policies.
  enum PolicyInput {
    private static let maximumSeenBytes = 512
    private static let maximumExpectedBytes = 4096

    static func check(_ bytes: [UInt8]) throws(Violation) {
      let (book, faults) = PolicyFile.read(bytes, quietHours: .standard)
      let again = PolicyFile.read(bytes, quietHours: .standard)
      try require(faults == again.faults && book.policies == again.book.policies, "a file is read in two ways")
      for fault in faults {
        try requireShort(fault.seen, maximumSeenBytes, "what was seen at \(fault.place)")
        try requireShort(fault.expected, maximumExpectedBytes, "what is expected at \(fault.place)")
      }
      try require(book.policies.first?.name == DeliveryPolicy.builtIn.name, "the built-in policy is missing")
      if faults.isEmpty { try check(book) }
    }

    private static func check(_ book: PolicyBook) throws(Violation) {
      let builtIn = book.policies[0]
      try require(builtIn.classes == DeliveryPolicy.builtIn.classes, "the file changed locked classes")
      try require(
        DeliveryPolicy.builtIn.limits.allSatisfy(builtIn.limits.contains), "the file removed a locked limit")
      try require(builtIn.retrySeconds >= DeliveryPolicy.builtIn.retrySeconds, "the file shortened the locked retries")
      let names = book.policies.flatMap { $0.classes.map(\.name) }
      try require(Set(names).count == names.count, "two classes have one name")
      for policy in book.policies {
        try require(!policy.limits.isEmpty, "policy \(policy.name) has no limit")
        for notificationClass in policy.classes { try check(notificationClass, of: book) }
      }
    }

    /// Requires that a job of the class is accepted and has a payload.
    private static func check(_ notificationClass: PolicyClass, of book: PolicyBook) throws(Violation) {
      let job = Array(#"{"to":{"instance":"i"},"class":"\#(notificationClass.name)"}"#.utf8)
      let payload: [UInt8]
      do throws(JobError) {
        let job = try Job(parsing: job)
        payload = try job.apnsPayload(try job.terms(in: book))
      } catch {
        throw Violation(description: "a job of class \(notificationClass.name) is refused: \(error.reason)")
      }
      try JSONText.requireValid(payload, "a payload")
    }
  }
#endif
