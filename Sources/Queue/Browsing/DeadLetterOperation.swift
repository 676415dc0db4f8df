import Jobs
import JSON

/// Requeueing or purging all dead letters that match a filter: what is done, how far it has come, and who does it.
///
/// It is stored in Redis after each page, so that it can be watched, stopped, and continued after a restart.
public struct DeadLetterOperation: Sendable, Equatable {
  public enum Phase: String, Sendable {
    case running, done, stopped
    /// A fault has ended it; it can be continued.
    case failed
  }

  public let id: String
  public let verb: DeadLetterVerb
  public let queues: [String]
  public let filter: DeadLetterFilter
  /// The operator who began it.
  public let operatorName: String
  /// Unix ms.
  public let startedAt: Int64
  /// The number of dead letters when it began.
  public let total: Int64
  public var phase = Phase.running
  /// The process that does it.
  public var owner: String
  /// Unix ms.
  public var updatedAt: Int64
  /// Letters that were looked at, that were requeued or purged, and that matched but were gone.
  public var examined = 0
  public var done = 0
  public var gone = 0
  /// Why it has failed.
  public var fault: String?
  /// The queue that it is at, and where there; nil at its beginning.
  var queueIndex = 0
  var position: SortedPosition?

  public init(
    verb: DeadLetterVerb, queues: [String], filter: DeadLetterFilter, operatorName: String, total: Int64,
    owner: String, now: Int64
  ) {
    id = String(UInt64.random(in: 0...UInt64.max), radix: 36)
    self.verb = verb
    self.queues = queues
    self.filter = filter
    self.operatorName = operatorName
    self.total = total
    self.owner = owner
    startedAt = now
    updatedAt = now
  }

  /// Without a sign of life for this long, in ms, its process has ended.
  static let interruptedAfter: Int64 = 15_000

  /// Whether its process has ended before it was done.
  public func isInterrupted(now: Int64) -> Bool {
    phase == .running && now - updatedAt > DeadLetterOperation.interruptedAfter
  }

  /// Whether it can go on where it has ended.
  public func canContinue(now: Int64) -> Bool {
    phase == .failed || phase == .stopped || isInterrupted(now: now)
  }

  /// 0 to 1.
  public var fraction: Double {
    if phase == .done { return 1 }
    return total > 0 ? min(1, Double(examined) / Double(total)) : 0
  }

  /// Takes what became of a page into account.
  mutating func add(_ step: BulkStep, now: Int64) {
    examined += step.examined
    done += step.done
    gone += step.gone
    updatedAt = now
    position = step.next
    if let error = step.fault {
      fail("\(error)")
    } else if step.next == nil {
      queueIndex += 1
      if queueIndex >= queues.count { phase = .done }
    }
  }

  mutating func fail(_ reason: String) {
    phase = .failed
    fault = String(reason.prefix(DeadLetterOperation.maximumFaultLength))
  }

  private static let maximumFaultLength = 300
}

extension DeadLetterOperation {
  /// Returns nil if `bytes` is not an operation.
  init?(json bytes: [UInt8]) {
    guard let value = try? JSONValue(parsing: bytes), let id = value["id"]?.string,
      let verb = value["verb"]?.string.flatMap(DeadLetterVerb.init), let queues = value["queues"]?.array,
      let phase = value["phase"]?.string.flatMap(Phase.init), let owner = value["owner"]?.string,
      let startedAt = value["startedAt"]?.integer, let updatedAt = value["updatedAt"]?.integer
    else { return nil }
    func count(_ key: String) -> Int { value[key]?.integer.map { Int(clamping: $0) } ?? 0 }
    self.id = id
    self.verb = verb
    self.queues = queues.compactMap(\.string)
    filter = DeadLetterFilter(
      reason: value["reason"]?.string, app: value["app"]?.string, since: value["since"]?.integer,
      until: value["until"]?.integer)
    operatorName = value["operator"]?.string ?? ""
    self.startedAt = startedAt
    total = value["total"]?.integer ?? 0
    self.phase = phase
    self.owner = owner
    self.updatedAt = updatedAt
    (examined, done, gone) = (count("examined"), count("done"), count("gone"))
    fault = value["fault"]?.string
    queueIndex = count("queueIndex")
    position = value["position"]?.string.flatMap { SortedPosition($0) }
    guard queueIndex >= 0, !self.queues.isEmpty, phase == .done || queueIndex < self.queues.count else { return nil }
  }

  func json() -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    for (key, text) in [
      ("id", id), ("verb", verb.rawValue), ("phase", phase.rawValue), ("owner", owner), ("operator", operatorName),
      ("reason", filter.reason), ("app", filter.app), ("fault", fault), ("position", position?.text),
    ] {
      guard let text else { continue }
      writer.key(key)
      writer.string(text)
    }
    for (key, number) in [
      ("startedAt", startedAt), ("updatedAt", updatedAt), ("total", total), ("examined", Int64(examined)),
      ("done", Int64(done)), ("gone", Int64(gone)), ("queueIndex", Int64(queueIndex)), ("since", filter.since),
      ("until", filter.until),
    ] {
      guard let number else { continue }
      writer.key(key)
      writer.integer(number)
    }
    writer.key("queues")
    writer.beginArray()
    for queue in queues { writer.string(queue) }
    writer.endArray()
    writer.endObject()
    return writer.bytes
  }
}

extension DeadLetterOperation {
  /// Returns the operation as another process goes on with it.
  public func resumed(by owner: String, now: Int64) -> DeadLetterOperation {
    var operation = self
    operation.phase = .running
    operation.owner = owner
    operation.updatedAt = now
    operation.fault = nil
    return operation
  }
}
