import Credentials

/// Who sent a request.
struct Operator: Sendable, Equatable {
  enum Way: Sendable, Equatable {
    /// By the cookie of a session.
    case session
    /// By a name and a secret in the request.
    case basic
    /// By the address alone: no operator exists, and the request comes from this machine.
    case local
  }

  let name: String
  let role: OperatorRole
  let way: Way

  /// Everybody on this machine, as long as no operator exists.
  static let local = Operator(name: "local", role: .admin, way: .local)
}
