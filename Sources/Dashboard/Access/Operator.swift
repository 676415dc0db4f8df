import Credentials

/// Who sent a request.
struct Operator: Sendable, Equatable {
  let name: String
  let role: OperatorRole
  /// Whether it came with the cookie of a session.
  let hasSession: Bool

  /// Everybody on this machine, as long as no operator exists.
  static let local = Operator(name: "local", role: .admin, hasSession: false)
}

extension Operator {
  init(_ credential: Credential, hasSession: Bool) {
    self.init(name: credential.name, role: credential.role, hasSession: hasSession)
  }
}
