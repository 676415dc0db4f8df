package import Credentials

/// Who sent a request.
package struct Operator: Sendable, Equatable {
  package let name: String
  package let role: OperatorRole
  /// Whether it came with the cookie of a session.
  package let hasSession: Bool

  /// Everybody on this machine, as long as no operator exists.
  package static let local = Operator(name: "local", role: .admin, hasSession: false)
}

extension Operator {
  package init(_ credential: Credential, hasSession: Bool) {
    self.init(name: credential.name, role: credential.role, hasSession: hasSession)
  }
}
