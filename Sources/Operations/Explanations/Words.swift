package import Jobs
import Registry

/// Numbers with their words.
package enum Words {
  package static func count(_ number: Int, _ word: String) -> String {
    number == 1 ? "1 \(word)" : "\(number) \(word)s"
  }

  package static func devices(_ number: Int) -> String { count(number, "device") }

  /// What the pushes of a job go to.
  package static func recipients(_ number: Int, _ isOfChannel: Bool) -> String {
    isOfChannel ? count(number, "environment") : devices(number)
  }

  /// `Unregistered (2), BadDeviceToken (1)`; without numbers if there is one of one reason.
  package static func list(_ reasons: [ReasonCount]) -> String {
    if reasons.count == 1, reasons[0].count == 1 { return named(reasons[0].reason) }
    return reasons.map { "\(named($0.reason)) (\($0.count))" }.joined(separator: ", ")
  }

  /// Some answers have no reason.
  package static func named(_ reason: String) -> String { reason.isEmpty ? "no reason given" : reason }

  /// The name in front, the rest shortened.
  package static func shortened(_ token: String) -> String { token.count <= 8 ? token : "\(token.prefix(8))…" }

  /// Why an entry of a set is not a device of its owner: a ``Registry/Removal/Reason``.
  package static func removal(_ reason: String) -> String {
    switch Removal.Reason(rawValue: reason) {
    case .malformedToken: "not a device token"
    case .otherForm: "another form of a device token"
    case .noMetadata: "registration expired or deleted"
    case .invalidMetadata: "registration not readable"
    case .otherOwner: "registered to another user now"
    case .otherApp: "registered for another app now"
    case nil: reason
    }
  }
}
