import Crypto

/// What the cookie of a session holds: `<sign-in>.<secret>`.
struct SessionID: Sendable, Equatable {
  /// Names the sign-in, as long as the session lasts.
  let signIn: String
  /// Another one after each rotation.
  let secret: String

  private init(signIn: String, secret: String) {
    self.signIn = signIn
    self.secret = secret
  }

  /// Makes the id of a new sign-in.
  init() {
    self.init(signIn: Secret.random(), secret: Secret.random())
  }

  /// Returns nil if `text` is not an id.
  init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
    self.init(signIn: String(parts[0]), secret: String(parts[1]))
  }

  /// Returns an id of the same sign-in with another secret.
  func rotated() -> SessionID { SessionID(signIn: signIn, secret: Secret.random()) }

  var text: String { "\(signIn).\(secret)" }

  /// What is stored of the secret.
  var digest: String { SHA256.hex(secret) }
}
