import Events
import PushModel

/// What is to be done with the device of one instance.
enum InstanceOperation: Sendable, Equatable {
  /// Replaces the device.
  case register(InstanceRecord)
  /// Marks the record inactive if it still has this token and was not registered later (unix ms). A date later than now is of a
  /// clock that was wrong.
  case deactivate(token: DeviceToken, notAfter: Int64, reason: String)
  /// Marks the record inactive.
  case unregister
  /// Stores what answers have shown of the device, unless the instance was registered again.
  case learn(DeviceFinding, token: DeviceToken, updatedAt: Int64)
  /// Stops pushes to the instance, or allows them again.
  case suspend(Bool)
  /// Writes the record, unless the one in Redis is at least as new. One with a date later than now replaces nothing, and is dated
  /// now.
  case restore(InstanceRecord)

  /// Whether Redis must accept it also when it is full, because it replaces a record by a shorter one.
  var isForced: Bool {
    switch self {
    case .deactivate, .unregister: true
    case .register, .learn, .suspend, .restore: false
    }
  }

  /// Decides what is written, and what events tell. Nil: nothing is to be done.
  func decide(_ stored: InstanceRecord?, of id: String, at now: Int64) -> (record: InstanceRecord, events: [Event])? {
    switch self {
    case .register(let record): return (record, record.events(ofInstance: id, from: stored, at: now))
    case .deactivate(let token, let notAfter, let reason):
      guard var record = stored, record.token == token, record.isActive,
        record.updatedAt <= notAfter || record.updatedAt > now + Registry.maximumClockDifference
      else { return nil }
      record.isActive = false
      return (record, [.removed(record.device(ofInstance: id), reason: reason, at: now)])
    case .unregister:
      guard var record = stored, record.isActive else { return nil }
      record.isActive = false
      return (record, [.removed(record.device(ofInstance: id), reason: RemovalCause.unregistered, at: now)])
    case .learn(let finding, let token, let updatedAt):
      guard var record = stored, record.token == token, record.updatedAt == updatedAt else { return nil }
      guard case .accepted(let environment) = finding else {
        guard record.unreachable != finding.unreachable else { return nil }
        record.unreachable = finding.unreachable
        return (record, [])
      }
      guard record.environment != environment else { return nil }
      let before = record.environment
      record.environment = environment
      record.unreachable = nil
      let device = record.device(ofInstance: id)
      return (record, before == nil ? [] : [.corrected(device, from: before?.rawValue, at: now)])
    case .suspend(let isSuspended):
      guard var record = stored, record.isSuspended != isSuspended else { return nil }
      record.isSuspended = isSuspended
      return (record, [])
    case .restore(var record):
      if let stored, record.updatedAt > now || stored.updatedAt >= record.updatedAt { return nil }
      record.updatedAt = min(record.updatedAt, now)
      return (record, [])
    }
  }
}
