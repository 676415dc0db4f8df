import Jobs
import JSON
import PushModel

/// Reads delivery policies from JSON: `{"policies":[…]}`, described in docs/policy.md.
enum PolicyFile {
  static let maximumBytes = 256 * 1024
  static let maximumPolicies = 32

  /// Returns the built-in policy, adapted by the file, with the file's own policies, and every fault of the file.
  /// `quietHours` applies to policies that define no quiet hours.
  static func read(_ bytes: [UInt8], quietHours: QuietHours?) -> (book: PolicyBook, faults: [InvalidValue]) {
    var reader = JSONFieldReader()
    var builtIn = DeliveryPolicy.builtIn
    builtIn.quietHours = quietHours
    var policies = [builtIn]
    var names: Set<String> = []
    for (policy, path) in definitions(in: bytes, quietHours, builtIn, &reader) {
      if !names.insert(policy.name).inserted {
        reader.report("\(path).name", seen: "\"\(policy.name)\"", expected: "a name that no other policy has")
      } else if policy.name == builtIn.name {
        policies[0] = policy
      } else {
        reportTakenNames(of: policy, path, policies, &reader)
        policies.append(policy)
      }
    }
    return (PolicyBook(policies), reader.faults)
  }

  private static func definitions(
    in bytes: [UInt8], _ quietHours: QuietHours?, _ builtIn: DeliveryPolicy, _ reader: inout JSONFieldReader
  ) -> [(DeliveryPolicy, path: String)] {
    reader.elements(of: "policies", in: bytes, count: 0...maximumPolicies).compactMap { value, path in
      let policy =
        value["name"]?.string == builtIn.name
        ? builtIn.adapted(by: value, path, &reader)
        : DeliveryPolicy(value, path, quietHours: quietHours, &reader)
      return policy.map { ($0, path) }
    }
  }

  /// Reports class names that are not unique: a job's class selects its policy.
  private static func reportTakenNames(
    of policy: DeliveryPolicy, _ path: String, _ others: [DeliveryPolicy], _ reader: inout JSONFieldReader
  ) {
    for (place, notificationClass) in policy.classes.enumerated() {
      let owner =
        others.first { $0.classes.contains { $0.name == notificationClass.name } }
        ?? (policy.classes[..<place].contains { $0.name == notificationClass.name } ? policy : nil)
      guard let owner else { continue }
      reader.report(
        "\(path).classes[\(place)].name", seen: "\"\(notificationClass.name)\"",
        expected: "a name that no other class has; policy \(owner.name) has it")
    }
  }
}

extension JSONFieldReader {
  /// Returns a text without control characters whose number of Unicode scalars is in `length`.
  mutating func text(_ object: JSONFields, _ name: String, length: ClosedRange<Int>) -> String? {
    text(
      object, name, expected: "\(length.lowerBound) to \(length.upperBound) characters without line ends",
      where: { text in
        length.contains(text.unicodeScalars.count)
          && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
      })
  }

  /// Returns a name of ``Charset/className``.
  mutating func className(_ object: JSONFields, _ name: String) -> String? {
    text(object, name, expected: Charset.className.description, where: Charset.className.accepts)
  }
}
