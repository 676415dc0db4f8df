import Jobs
import EventLoop
import Redis

extension Settlement.Verb {
  /// Where the job goes; nil when it goes nowhere.
  func target(_ keys: QueueKeys) -> String? {
    switch self {
    case .acknowledge: nil
    case .retry: keys.retry
    case .schedule: keys.scheduled
    case .bury: keys.dead
    case .handBack: keys.queue
    }
  }

  /// The script's arguments (`seal` is the queue's): verb, element in the target, score or delay in ms, most entries of the target.
  @EventLoop
  func append(to command: inout RedisCommand, claimed: Claim, seal: String) {
    switch self {
    case .acknowledge: command.append(verb: "acknowledge", [], 0, "")
    case .retry(let element, let delay): command.append(verb: "retry", element, delay.milliseconds, "")
    case .schedule(let element, let at): command.append(verb: "schedule", element, at, "")
    case .bury(let letter):
      command.append(verb: "bury", letter, Clock.unixMilliseconds, "\(QueueLimits.maximumDeadLetters)")
    case .handBack: command.append(verb: "handback", Seal.prefix(seal) + claimed.element, 0, "")
    }
  }
}

extension Settlement {
  /// The script's arguments for its readers, in the order of their keys: how many records, the records, then of each reader
  /// its name and which record.
  @EventLoop
  func appendNotifications(to command: inout RedisCommand) {
    command.append(notifications.count)
    for notification in notifications { command.append(notification.json) }
    for (place, notification) in notifications.enumerated() {
      for reader in notification.readers {
        command.append(reader.name)
        command.append(place + 1)
      }
    }
  }
}

extension RedisCommand {
  fileprivate mutating func append(verb: StaticString, _ element: [UInt8], _ score: Int64, _ most: String) {
    append(verb)
    append(element)
    append(score)
    append(most)
  }
}
