/// The numbers of the simulator's `GET /ledger`.
public struct GatewayLedger: Decodable, Equatable, Sendable {
  public let received: Int
  public let accepted: Int
  public let distinct: Int
  public let duplicates: Int
  public let byStatus: [String: Int]
  public let byReason: [String: Int]
  public let connections: Int
  public let openConnections: Int
  /// Different provider tokens that were admitted.
  public let providerTokens: Int
  public let goaways: Int
  public let resets: Int
  public let stalls: Int
  public let drops: Int
}
