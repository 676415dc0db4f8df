public import Credentials
public import EventLoop
public import Redis
public import Registry

/// Adds, disables and revokes credentials. Nothing is pushed to an instance whose credential may not be used.
///
/// Whoever repeats a call that was interrupted completes it.
@EventLoop
public struct CredentialControl {
  private let credentials: Credentials
  private let registry: Registry

  public init(_ credentials: Credentials, _ registry: Registry) {
    self.credentials = credentials
    self.registry = registry
  }

  /// Stores a new credential. Returns nil if it was added.
  public func add(_ credential: Credential) async throws(RedisError) -> Credentials.Conflict? {
    if let conflict = try await credentials.add(credential) { return conflict }
    try await suspend(credential.kind, credential.name, !credential.isEnabled)
    return nil
  }

  /// Removes a credential; of a user with a label, that secret alone. Returns false if there is none.
  public func revoke(
    _ kind: Credential.Kind, _ name: String, label: String? = nil
  ) async throws(RedisError) -> Bool {
    try await suspend(kind, name, true)
    return try await credentials.revoke(kind, name, label: label)
  }

  /// Enables or disables a credential. Returns false if there is no credential of that name.
  public func setEnabled(_ isEnabled: Bool, _ kind: Credential.Kind, _ name: String) async throws(RedisError) -> Bool {
    if !isEnabled { try await suspend(kind, name, true) }
    guard try await credentials.setEnabled(isEnabled, kind, name) else { return false }
    // Not before: a revoked instance cannot be enabled.
    if isEnabled { try await suspend(kind, name, false) }
    return true
  }

  private func suspend(_ kind: Credential.Kind, _ name: String, _ isSuspended: Bool) async throws(RedisError) {
    guard kind == .instance else { return }
    try await registry.suspend(instance: name, isSuspended)
  }
}
