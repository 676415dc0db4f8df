import EventLoop

/// `GET /ledger`. Times are unix nanoseconds.
struct LedgerReport: Codable, Equatable {
  let received: Int
  let accepted: Int
  let distinct: Int
  let duplicates: Int
  /// Pushes whose id found no room any more.
  let overflow: Int
  let byStatus: [String: Int]
  let byReason: [String: Int]
  let firstArrival: UInt64
  let lastArrival: UInt64
  let connections: Int
  let openConnections: Int
  /// Provider tokens whose signature was checked.
  let tokensVerified: Int
  let goaways: Int
  let resets: Int
  let stalls: Int
  let drops: Int
  let forcedAnswers: Int

  @EventLoop
  init(_ gateway: Gateway) {
    let ledger = gateway.ledger
    received = ledger.received
    accepted = ledger.accepted
    distinct = ledger.ids.count
    duplicates = ledger.duplicates
    overflow = ledger.ids.overflow
    byStatus = ledger.byStatus.reduce(into: ["200": ledger.accepted]) { $0[String($1.key)] = $1.value }
    byReason = ledger.byReason
    firstArrival = ledger.firstArrival
    lastArrival = ledger.lastArrival
    connections = gateway.connectionsAccepted
    openConnections = gateway.openConnections
    tokensVerified = gateway.verifier.verifications
    goaways = gateway.effects["goaways"] ?? 0
    resets = gateway.effects["resets"] ?? 0
    stalls = gateway.effects["stalls"] ?? 0
    drops = gateway.effects["drops"] ?? 0
    forcedAnswers = gateway.effects["answers"] ?? 0
  }
}
