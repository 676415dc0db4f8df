extension GatewayLedger {
  /// One push of `GET /ledger/recent`.
  public struct Push: Decodable, Equatable, Sendable {
    public let apnsId: String
    public let token: String?
    public let topic: String?
    public let pushType: String?
    public let priority: String?
    public let collapseId: String?
    public let expiration: String?
    public let payloadBytes: Int
    /// Unix nanoseconds.
    public let arrival: Int64
    public let status: Int
    public let reason: String?
  }
}
