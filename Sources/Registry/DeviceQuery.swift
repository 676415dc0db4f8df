/// Which devices are asked for.
public enum DeviceQuery: Sendable, Equatable {
  /// All that the user owns.
  case user(String)
  /// One device, only if the user owns it.
  case userToken(user: String, token: String)
  /// Named by the producer, whoever owns them.
  case tokens([String])
  case instance(String)
}
