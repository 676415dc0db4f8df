import EventLoop
import Redis

/// Plain acknowledgements that one call of ``QueueScripts/acknowledge`` writes.
@EventLoop
struct AcknowledgeBatch {
  /// The oldest jobs that have a record, then the jobs that are searched, then the oldest jobs without a record, which are
  /// only counted. The places of the answer are those of this list.
  let entries: [PendingSettlement]
  private let oldest: ClaimLedger.Run?
  /// The number of the oldest jobs that have a record; at most once that of all jobs that have one.
  private let together: Int
  private let counted: Int

  init(_ pending: ArraySlice<PendingSettlement>, _ ledger: ClaimLedger, _ mode: DeliveryMode, queueIndex: Int) {
    for entry in pending { entry.claim.isNext = !entry.claim.isSent }
    oldest = mode == .atMostOnce ? nil : ledger.takeOldest(queueIndex: queueIndex)
    var recorded: [PendingSettlement] = []
    var searched: [PendingSettlement] = []
    var bare: [PendingSettlement] = []
    recorded.reserveCapacity(pending.count)
    for entry in pending {
      let isOldest = entry.claim.isNext && entry.claim.serial <= oldest?.last.serial ?? 0
      entry.claim.isSent = true
      if mode == .atLeastOnce, !isOldest {
        searched.append(entry)
      } else if entry.settlement.record == nil {
        bare.append(entry)
      } else {
        recorded.append(entry)
      }
    }
    (together, counted) = (recorded.count, bare.count)
    entries = recorded + searched + bare
  }

  func call(inflight: String, _ mode: DeliveryMode) -> RedisCall {
    let listed = entries.dropLast(counted)
    var records: [String] = []
    records.reserveCapacity(listed.count)
    var timeToLive = Duration.zero
    // A loop: closures that are isolated check their executor at every call.
    for entry in listed {
      if let record = entry.settlement.record {
        records.append(QueueKeys.result(record.jobID))
        timeToLive = record.timeToLive
      } else {
        records.append(inflight)
      }
    }
    var call = QueueScripts.acknowledge(
      inflight: inflight, records: RedisList(records), mode: mode.rawValue, ttl: timeToLive.milliseconds,
      count: oldest?.count ?? 0, first: oldest?.first.element ?? [], last: oldest?.last.element ?? [],
      together: together, jobs: RedisList())
    for entry in listed { call.append(entry.settlement.record?.json ?? []) }
    for entry in listed.dropFirst(together) { call.append(entry.claim.element) }
    return call
  }
}
