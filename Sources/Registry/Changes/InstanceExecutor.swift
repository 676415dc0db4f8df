import EventLoop
import Events
import Redis

/// Changes the devices of instances, each on its own: reads the records, decides, and applies what was decided if the
/// record is still the same.
@EventLoop
struct InstanceExecutor {
  typealias Outcome = (before: InstanceRecord?, isWritten: Bool)

  private let sender: TransactionSender
  /// Written after the changes; nil if they are written with them, or not at all.
  private let events: EventLog?

  /// On a cluster the stream of events is in another slot than a record.
  init(_ connection: RedisClient, events: EventLog?, isCluster: Bool) {
    sender = TransactionSender(connection, events: isCluster ? nil : events, isCombined: !isCluster)
    self.events = isCluster ? events : nil
  }

  func run(_ operations: [(id: String, operation: InstanceOperation)]) async throws(RedisError) -> [Outcome] {
    var outcomes: [Outcome] = operations.map { _ in (nil, false) }
    var told: [[Event]] = operations.map { _ in [] }
    var stored = try await records(operations.map(\.id))
    var open = Array(operations.indices)
    for _ in 0..<Registry.maximumConflicts where !open.isEmpty {
      var sent: [(index: Int, transaction: Transaction)] = []
      for index in open {
        let (id, operation) = operations[index]
        let before = InstanceRecord(parsing: stored[index])
        let decided = operation.decide(before, of: id, at: Clock.unixMilliseconds)
        outcomes[index] = (before, decided != nil)
        told[index] = decided?.events ?? []
        guard let decided else { continue }
        let change = Transaction.Change(
          key: RegistryKeys.instance(id), expected: stored[index], record: decided.record.json(),
          isForced: operation.isForced, events: sender.events == nil ? [] : decided.events)
        sent.append((index, Transaction([change])))
      }
      open = []
      for ((index, _), reply) in zip(sent, await sender.send(sent.map(\.transaction))) {
        guard case .otherRecord(_, let bytes) = try reply.get() else { continue }
        stored[index] = bytes
        open.append(index)
      }
    }
    guard open.isEmpty else { throw Registry.conflict }
    events?.append(told.flatMap { $0 })
    return outcomes
  }

  private func records(_ ids: [String]) async throws(RedisError) -> [[UInt8]] {
    var records: [[UInt8]] = []
    for batch in ids.batches(of: Registry.maximumBatch) {
      let command = RedisCommand("MGET", batch.map(RegistryKeys.instance))
      records += (try await sender.connection.send(command).array ?? []).map { $0.bytes ?? [] }
    }
    return records
  }
}
