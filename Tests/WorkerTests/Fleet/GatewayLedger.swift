/// The numbers of the simulator's `GET /ledger`.
struct GatewayLedger: Decodable, Equatable {
  let received: Int
  let accepted: Int
  let distinct: Int
  let duplicates: Int
  let byStatus: [String: Int]
  let byReason: [String: Int]
  let connections: Int
  let openConnections: Int
  let goaways: Int
  let resets: Int
  let stalls: Int
  let drops: Int

  /// One line of `GET /ledger/recent`.
  struct Push: Decodable, Equatable {
    let apnsId: String
    let token: String?
    let topic: String?
    let pushType: String?
    let priority: String?
    let collapseId: String?
    let expiration: String?
    let payloadBytes: Int
    /// Unix nanoseconds.
    let arrival: Int64
    let status: Int
    let reason: String?
  }
}
