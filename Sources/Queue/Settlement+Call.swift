import EventLoop
import Events
import JSON
import Redis

extension Settlement {
  /// The call of the script that ends the claim. `replyTo` and `events` are what this user of Redis may write of those of
  /// the settlement.
  @EventLoop
  func call(
    of claim: Claim, _ keys: QueueKeys, worker: String, _ mode: DeliveryMode, seal: String, replyTo: String?,
    events: [Event]
  ) -> RedisCall {
    let none = keys.inflight(worker)
    if case .handBack = verb {
      return QueueScripts.handBack(
        inflight: none, queue: keys.queue, mode: mode.rawValue, element: claim.element,
        sealed: Seal.prefix(seal) + claim.element)
    }
    let recordKey = record.flatMap { $0.isKept ? QueueKeys.result($0.jobID) : nil } ?? none
    let stream = events.isEmpty ? none : EventStream.key
    let (json, ttl, author) = (record?.json ?? [], record?.timeToLive ?? .zero, record?.author ?? "")
    let eventList = JSONWriter.list(events) { $1.string(String(decoding: $0.json, as: UTF8.self)) }
    guard let move = SettlementMove(self, keys) else {
      return QueueScripts.finish(
        inflight: none, record: recordKey, reply: replyTo ?? none, stream: stream, readers: RedisList(readerKeys),
        mode: mode.rawValue, element: claim.element, json: json, ttl: ttl.milliseconds, author: author,
        notifications: notificationList, events: eventList)
    }
    return QueueScripts.move(
      inflight: none, target: move.target, held: keys.held, due: move.due ?? none, replaced: move.replaced ?? none,
      control: move.isUnderProducersID ? keys.control : none, record: recordKey, reply: replyTo ?? none,
      stream: stream, readers: RedisList(readerKeys), mode: mode.rawValue, element: claim.element,
      moved: move.element, score: move.score.map { String($0) } ?? "", delay: move.delay.milliseconds,
      paused: move.paused ?? "", letter: move.place.rawValue, head: move.head, outlives: move.outlives.milliseconds,
      most: move.most.map { String($0) } ?? "", json: json, ttl: ttl.milliseconds, author: author,
      notifications: notificationList, events: eventList)
  }

  /// The stream, the credentials and the device of each reader of ``notifications``.
  private var readerKeys: [String] { notifications.flatMap { $0.readers.flatMap(\.keys) } }

  /// A JSON array of arrays of a record and the names of its readers, in the order of ``readerKeys``.
  ///
  /// A job to 1,000 devices has up to 1,000 readers with three keys each. With an argument for each name, too, the
  /// request would exceed ``RequestLimits/maximumWords``.
  private var notificationList: [UInt8] {
    JSONWriter.list(notifications) { notification, list in
      list.beginArray()
      list.string(String(decoding: notification.json, as: UTF8.self))
      list.raw(JSONWriter.list(notification.readers) { $1.string($0.name) })
      list.endArray()
    }
  }
}

extension JSONWriter {
  /// A JSON array of what `write` writes for each element.
  fileprivate static func list<T>(_ elements: [T], _ write: (T, inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginArray()
    for element in elements { write(element, &writer) }
    writer.endArray()
    return writer.bytes
  }
}

extension Settlement.Verb {
  /// The key that the job moves to; nil if the job ends.
  func target(_ keys: QueueKeys) -> String? {
    switch self {
    case .acknowledge: nil
    case .retry: keys.retry
    case .schedule, .pause: keys.scheduled
    case .bury: keys.dead
    case .handBack: keys.queue
    }
  }
}
