/// To whom a job goes.
public enum Addressee: Sendable, Equatable {
  /// Every device that a user owns; the name is trimmed and lower-cased.
  case user(String)
  /// One device, only if the user owns it.
  case userToken(user: String, token: String)
  case token(String)
  /// 1 to 1,000 tokens; who is named twice gets the job once.
  case tokens([String])
  /// The one active device of an instance; always with a class.
  case instance(String)
  /// Everyone registered for a bundle id.
  case app(String)
}
