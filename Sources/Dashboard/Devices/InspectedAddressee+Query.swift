import Credentials
import Operations
import PushModel
import Telemetry

/// Whose devices are shown: `?user=`, `?token=` or `?instance=`.
extension InspectedAddressee {
  /// Returns nil without any of the three. Throws a ``PageError`` if there are several, or if the one is malformed.
  static func read(_ request: PageRequest) throws(PageError) -> InspectedAddressee? {
    let given = ["user", "token", "instance"].compactMap { name in request.query(name).map { (name, $0) } }
    guard let (name, value) = given.first else { return nil }
    guard given.count == 1 else {
      throw .badRequest("Ask for a user, a token or an instance, not for several at once.")
    }
    let query: InspectedAddressee? =
      switch name {
      case "user": Credential.normalized(value, of: .user).map { .user(Username($0)) }
      case "token": DeviceToken.isWellFormed(value) ? .token(value) : nil
      default: Credential.normalized(value, of: .instance).map { .instance($0) }
      }
    guard let query else {
      throw .badRequest(
        "This is not a valid \(name == "instance" ? "instance id" : name), so nothing can be registered for it.")
    }
    return query
  }

  /// As the audit log names it.
  var subject: String { subject(Log.shortened) }
}
