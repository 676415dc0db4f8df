/// What an API key may be used for.
public enum KeyScope: String, Sendable, CaseIterable {
  /// The device registration API: `/devices`.
  case devices
  /// `/newtoken`.
  case tokens
  /// `/newpush`: a push to everyone.
  case push
}
