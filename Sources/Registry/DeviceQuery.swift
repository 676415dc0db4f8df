/// Whose devices are looked for. Usernames are normalised already.
public enum DeviceQuery: Sendable, Equatable {
  case user(String)
  /// That device, only if the user owns it.
  case userToken(user: String, token: String)
  /// Sent to even when nobody registered it: whoever asks has named it.
  case token(String)
  case tokens([String])
  case instance(String)
}
