import EventLoop
import Events
import Redis

extension TransactionSender {
  typealias InstanceOutcome = (before: InstanceRecord?, isWritten: Bool, events: [Event])

  /// Carries out operations on instances, each on its own: reads the records, decides, and applies what was decided if
  /// the record is still the same.
  func run(
    _ operations: [(id: String, operation: InstanceOperation)]
  ) async throws(RedisError) -> [InstanceOutcome] {
    var outcomes: [InstanceOutcome] = operations.map { _ in (nil, false, []) }
    var stored = try await records(operations.map(\.id))
    var open = Array(operations.indices)
    for _ in 0..<Registry.maximumConflicts where !open.isEmpty {
      var sent: [(index: Int, transaction: Transaction)] = []
      for index in open {
        let (id, operation) = operations[index]
        let before = InstanceRecord(parsing: stored[index])
        outcomes[index] = (before, false, [])
        guard let (record, events) = operation.decide(before, of: id, at: Clock.unixMilliseconds) else { continue }
        outcomes[index] = (before, true, events)
        let change = Transaction.Change(
          key: RegistryKeys.instance(id), expected: stored[index], record: record.json(), isForced: operation.isForced,
          events: self.events == nil ? [] : events)
        sent.append((index, Transaction([change])))
      }
      open = []
      for ((index, _), reply) in zip(sent, await send(sent.map(\.transaction))) {
        guard case .otherRecord(_, let bytes) = try reply.get() else { continue }
        stored[index] = bytes
        open.append(index)
      }
    }
    guard open.isEmpty else { throw Registry.conflict }
    return outcomes
  }

  private func records(_ ids: [String]) async throws(RedisError) -> [[UInt8]] {
    var records: [[UInt8]] = []
    for start in stride(from: 0, to: ids.count, by: Registry.maximumBatch) {
      var command = RedisCommand("MGET")
      for id in ids[start..<min(start + Registry.maximumBatch, ids.count)] { command.append(RegistryKeys.instance(id)) }
      records += (try await connection.send(command).array ?? []).map { $0.bytes ?? [] }
    }
    return records
  }
}
