/// The pushes that were processed, whether answered or not.
struct Ledger {
  static let maximumIDs = 2_000_000
  static let recentLimit = 1000

  /// Number of pushes.
  private(set) var received = 0
  private(set) var accepted = 0
  /// Pushes that were accepted although their id had been accepted before.
  private(set) var duplicates = 0
  private(set) var byStatus: [Int: Int] = [:]
  private(set) var byReason: [String: Int] = [:]
  /// Unix nanoseconds; 0 before the first push.
  private(set) var firstArrival: UInt64 = 0
  private(set) var lastArrival: UInt64 = 0
  /// Ids of accepted pushes.
  private(set) var ids: PushTable
  private var recentPushes: [RecentPush] = []
  private var nextRecent = 0
  private let keepsIDs: Bool

  /// If `keepsIDs` is false, only totals are kept.
  init(keepsIDs: Bool, limit: Int = Ledger.maximumIDs) {
    self.keepsIDs = keepsIDs
    ids = PushTable(limit: limit)
  }

  /// Records a push. Exchanges the head's buffer for another one, which can be reused.
  mutating func record(
    _ head: inout RequestHead, id: PushID, payloadBytes: Int, arrival: UInt64, answer: Answer
  ) {
    received += 1
    if firstArrival == 0 { firstArrival = arrival }
    lastArrival = arrival
    if answer.isAccepted {
      accepted += 1
    } else {
      byStatus[answer.status, default: 0] += 1
      if let reason = answer.reason { byReason[reason, default: 0] += 1 }
    }
    guard keepsIDs else { return }
    if answer.isAccepted, ids.add(id, at: arrival) > 1 { duplicates += 1 }
    if recentPushes.count < Ledger.recentLimit {
      recentPushes.append(RecentPush())
      nextRecent = recentPushes.count - 1
    }
    swap(&head, &recentPushes[nextRecent].head)
    recentPushes[nextRecent].id = id
    recentPushes[nextRecent].arrival = arrival
    recentPushes[nextRecent].payloadBytes = payloadBytes
    recentPushes[nextRecent].status = answer.status
    recentPushes[nextRecent].reason = answer.reason
    nextRecent = (nextRecent + 1) % Ledger.recentLimit
  }

  /// Returns the last `count` pushes, newest first.
  func recent(_ count: Int) -> [RecentPush] {
    let size = recentPushes.count
    return (0..<min(max(0, count), size)).map { recentPushes[(nextRecent - 1 - $0 + 2 * size) % size] }
  }

  mutating func removeAll() {
    self = Ledger(keepsIDs: keepsIDs, limit: Ledger.maximumIDs)
  }
}

/// One of the latest pushes.
struct RecentPush {
  var head = RequestHead()
  var id = PushID(high: 0, low: 0)
  /// Unix nanoseconds.
  var arrival: UInt64 = 0
  var payloadBytes = 0
  var status = 0
  var reason: String?
}
