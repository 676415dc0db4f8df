import Jobs
import PushModel

/// Whose a state of a Live Activity is. Anybody who is signed in can register a token under any id, so an id gives no right to
/// the states.
enum ActivityAudience: Sendable, Equatable {
  /// Everyone who has registered a token.
  case everyone
  case users(Set<Username>)

  func includes(_ device: ActivityDevice) -> Bool {
    guard case .users(let users) = self else { return true }
    return device.user.map(users.contains) ?? false
  }
}

/// A device as the state of a Live Activity knows it.
struct ActivityDevice: Sendable, Equatable {
  private static let prefix = "phone:"
  /// Between the phone and its user: no name holds it.
  private static let separator = "\n"

  /// A digest of the token, shorter than the token.
  let token: String
  /// The phone, if the app names it; else the token. An app can name any phone, so it counts for one user only.
  let phone: String
  let user: Username?

  init(token: DeviceToken, phone: String?, user: Username?) {
    let digest = apnsID(jobID: "", token: token.text)
    self.token = digest
    self.phone = phone.map { ActivityDevice.key($0, of: user ?? .nobody) } ?? digest
    self.user = user
  }

  private static func key(_ phone: String, of user: Username) -> String { prefix + phone + separator + user.text }

  /// Whether a ``phone`` is that of an app which names it.
  static func isPhone(_ key: String) -> Bool { key.utf8.starts(with: prefix.utf8) }

  /// The key of a token or a phone as it is stored now. 2.0.0 put a colon between a phone and its user, which both may contain:
  /// nil if the key may be that of several of the users, or of none.
  static func key(stored key: String, users: Set<Username>) -> String? {
    guard isPhone(key), !key.utf8.contains(UInt8(ascii: "\n")) else { return key }
    let names = key.utf8.dropFirst(prefix.utf8.count)
    let colons = names.indices.filter { names[$0] == UInt8(ascii: ":") }
    let parts = colons.map {
      (phone: names[..<$0], user: Username(String(Substring(names[names.index(after: $0)...]))))
    }
    let known = parts.filter { users.contains($0.user) }
    guard let (phone, user) = known.first, known.count == 1 else { return nil }
    return ActivityDevice.key(String(Substring(phone)), of: user)
  }
}
