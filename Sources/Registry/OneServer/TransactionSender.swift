import EventLoop
import Events
import Redis

/// Sends transactions to Redis, which applies each in one atomic step with its events. Those of one turn of the loop
/// leave together.
@EventLoop
final class TransactionSender {
  typealias Completion = @EventLoop ([Result<Transaction.Reply, RedisError>]) -> Void

  /// Of one script, which blocks Redis for about a millisecond.
  private static let maximumTransactions = 100
  /// Words of a request beside those of its transactions.
  private static let wordsOfScript = 8
  private static let unexpected = RedisError.outcomeUnknown("Redis sent an unexpected reply to a change of a device")

  let connection: RedisClient
  /// Nil if no events are written with the changes.
  let events: EventLog?
  /// Whether a script may have the keys of several transactions.
  let isCombined: Bool
  private var waiting: [(transactions: [Transaction], completion: Completion)] = []

  init(_ connection: RedisClient, events: EventLog?, isCombined: Bool = true) {
    self.connection = connection
    self.events = events
    self.isCombined = isCombined
    connection.preload([RegistryScripts.applyScript])
  }

  /// Sends transactions at the end of this turn, and passes their replies in the same order.
  func send(_ transactions: [Transaction], _ completion: @escaping Completion) {
    if waiting.isEmpty { EventLoop.atEndOfTurn { [self] in sendWaiting() } }
    waiting.append((transactions, completion))
  }

  private func sendWaiting() {
    let sent = waiting
    waiting = []
    EventLoop.gather(batches(sent.flatMap(\.transactions)), apply) { replies in
      var left = replies.flatMap { $0 }[...]
      for (transactions, completion) in sent {
        completion(Array(left.prefix(transactions.count)))
        left = left.dropFirst(transactions.count)
      }
    }
  }

  /// Redis refuses a script at its first write, for example if it is full. What it refuses together it gets once more one
  /// by one, so that a change does not fail with another one.
  private func apply(_ batch: ArraySlice<Transaction>, _ completion: @escaping Completion) {
    call(batch) { [self] result in
      if case .failure(.reply) = result, batch.count > 1 {
        return EventLoop.gather(batch.indices.map { batch[$0...$0] }, apply) { completion($0.flatMap { $0 }) }
      }
      completion(
        batch.enumerated().map { number, transaction in
          result.flatMap { value in
            guard let values = value.array, values.count > number, let reply = transaction.reply(values[number]) else {
              return .failure(TransactionSender.unexpected)
            }
            return .success(reply)
          }
        })
    }
  }

  func send(_ transactions: [Transaction]) async -> [Result<Transaction.Reply, RedisError>] {
    await withCheckedContinuation { continuation in send(transactions) { continuation.resume(returning: $0) } }
  }

  /// Divides transactions so that no request has more words than any server accepts.
  private func batches(_ transactions: [Transaction]) -> [ArraySlice<Transaction>] {
    var batches: [ArraySlice<Transaction>] = []
    var words = 0
    for (index, transaction) in transactions.enumerated() {
      words += transaction.words
      if let last = batches.last, isCombined, last.count < TransactionSender.maximumTransactions,
        words + TransactionSender.wordsOfScript <= RequestLimits.maximumWords
      {
        batches[batches.count - 1] = transactions[last.startIndex...index]
      } else {
        batches.append(transactions[index...index])
        words = transaction.words
      }
    }
    return batches
  }

  /// Calls the script with the stream of events; without it if the user of Redis may not write there.
  private func call(
    _ batch: ArraySlice<Transaction>, writesEvents: Bool = true, _ completion: @escaping RedisClient.Completion
  ) {
    let events = writesEvents ? events : nil
    let keys = batch.flatMap(\.keys)
    var script = RegistryScripts.apply(
      stream: events == nil ? keys.first ?? "" : EventStream.key, places: RedisList(keys),
      transactions: RedisList())
    for transaction in batch { transaction.append(to: &script) }
    connection.send(script) { [self] result in
      if let events, case .failure(.reply(let error)) = result, error.code == "NOPERM" {
        return call(batch, writesEvents: false) { result in
          // Otherwise it was not the stream that Redis refused, and there is nothing to tell.
          if case .success = result { events.refuse(1, error.message) }
          completion(result)
        }
      }
      completion(
        result.map { value in
          let parts = value.array ?? []
          let replies = parts.count == 2 ? parts[1] : .null
          if let events, let refusal = parts.first?.string {
            countEvents(batch, replies.array ?? [], refusal, events)
          }
          return replies
        })
    }
  }

  /// Counts the events of transactions that were applied.
  private func countEvents(
    _ transactions: ArraySlice<Transaction>, _ replies: [RedisValue], _ refusal: String, _ events: EventLog
  ) {
    let written = zip(transactions, replies).filter { $1.array?.first?.string == "done" }
      .flatMap { transaction, _ in transaction.changes.flatMap { $0.events.map(\.type) } }
    guard !written.isEmpty else { return }
    if refusal.isEmpty { events.countWritten(written) } else { events.refuse(written.count, refusal) }
  }
}
