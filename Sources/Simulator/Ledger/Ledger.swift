/// What the simulator has received. A push is in the ledger once it has been processed, answered or not.
struct Ledger {
  static let maximumIDs = 2_000_000
  static let recentLimit = 1000

  /// Pushes processed.
  private(set) var received = 0
  private(set) var accepted = 0
  /// Accepted more than once: every acceptance after the first of its id.
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

  /// Without ids only the totals are kept.
  init(keepsIDs: Bool, limit: Int = Ledger.maximumIDs) {
    self.keepsIDs = keepsIDs
    ids = PushTable(limit: limit)
  }

  /// Takes the head's buffer and leaves another one, to be used again, in its place.
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

  /// The last `count` pushes, newest first.
  func recent(_ count: Int) -> [RecentPush] {
    let size = recentPushes.count
    return (0..<min(max(0, count), size)).map { recentPushes[(nextRecent - 1 - $0 + 2 * size) % size] }
  }

  mutating func removeAll() {
    self = Ledger(keepsIDs: keepsIDs, limit: Ledger.maximumIDs)
  }
}
