import EventLoop
public import Redis

extension Credentials {
  /// A part of the credentials of a kind.
  public struct Part: Sendable {
    /// In the order of their names, within the part.
    public let credentials: [Credential]
    /// Where the next part begins; nil if this is the last one.
    public let next: String?
  }

  /// Returns about `count` credentials. A credential that is added or removed between two parts may be missing.
  ///
  /// - Parameter cursor: `0`, or the beginning of the next part.
  public func part(_ kind: Credential.Kind, cursor: String, count: Int) async throws(RedisError) -> Part {
    let key = CredentialKeys.credentials(kind)
    let reply = try await connection.send(RedisCommand("HSCAN", key, cursor, "COUNT", String(count))).array ?? []
    let next = reply.first?.string ?? "0"
    return Part(
      credentials: Credentials.sorted(reply.dropFirst().first?.array ?? [], kind), next: next == "0" ? nil : next)
  }
}
