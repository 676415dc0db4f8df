import Jobs
import PushModel

/// Whose a state of a Live Activity is. Anybody who is signed in can register a token under any id, so an id gives no right to
/// the states.
enum ActivityAudience: Sendable, Equatable {
  /// Everyone who has registered a token.
  case everyone
  /// These users, and the phones of `formerStarts`, whose users an earlier version did not keep.
  case users(Set<String>, formerStarts: Set<String>)

  func includes(_ device: ActivityDevice) -> Bool {
    guard case .users(let users, let formerStarts) = self else { return true }
    if let user = device.user, users.contains(user) { return true }
    guard !formerStarts.isEmpty else { return false }
    // A start went to another token of the phone, so that a token alone says nothing.
    return device.formerPhone.map(formerStarts.contains) ?? formerStarts.contains { !ActivityDevice.isPhone($0) }
  }
}

/// A device as the state of a Live Activity knows it.
struct ActivityDevice: Sendable, Equatable {
  private static let prefix = "phone:"

  /// A digest of the token, shorter than the token.
  let token: String
  /// The phone, if the app names it; else the token. An app can name any phone, so it counts for one user only.
  let phone: String
  /// The key that an earlier version gave to the phone; nil if the app does not name it.
  let formerPhone: String?
  let user: String?

  init(token: DeviceToken, phone: String?, user: String?) {
    let digest = apnsID(jobID: "", token: token.text)
    self.token = digest
    self.phone = phone.map { "\(ActivityDevice.prefix)\($0):\(user ?? "")" } ?? digest
    formerPhone = phone.map { ActivityDevice.prefix + $0 }
    self.user = user
  }

  /// Whether a ``phone`` is that of an app which names it.
  static func isPhone(_ key: String) -> Bool { key.hasPrefix(prefix) }
}
