import Policy
import Queue
import EventLoop
import Jobs

/// What is kept for those who poll.
extension OutcomeBook {
  /// Whether the job ends unread by owners whom nobody has looked up.
  func needsOwners(of delivery: Delivery, _ status: JobStatus) -> Bool {
    guard delivery.hasUnknownOwners, status.isFinal else { return false }
    return switch notifications {
    case .off: false
    case .unsent: status.leavesUserUnreached
    case .all: status != .duplicate
    }
  }

  /// The records that leave with the settlement of an attempt; of a broadcast none.
  func notifications(of delivery: Delivery, _ status: JobStatus, at now: Int64) -> [Settlement.Notification] {
    guard notifications != .off, status != .duplicate, notifications == .all || status != .accepted else { return [] }
    switch delivery.job.addressee {
    case .user(let name), .userToken(let name, _): return whole(delivery, status, for: .user(name), at: now)
    case .instance(let id): return whole(delivery, status, for: .instance(id), at: now)
    case .token, .tokens: return ofOwners(delivery, status, at: now)
    case .app: return []
    }
  }

  /// For these users, whom no push will reach; nil when there is nothing to keep.
  func unsentNotification(of delivery: Delivery, for users: [String]) -> Settlement.Notification? {
    guard notifications != .off else { return nil }
    return notification(of: delivery, .unsent, for: users.map(NotificationReader.user), at: Clock.unixMilliseconds)
  }

  /// One addressee: the end of the job is theirs.
  private func whole(
    _ delivery: Delivery, _ status: JobStatus, for reader: NotificationReader, at now: Int64
  ) -> [Settlement.Notification] {
    let isUnreached = delivery.tally.result.accepted == 0 && status.leavesUserUnreached
    guard status.isFinal, notifications == .all || isUnreached else { return [] }
    return notification(of: delivery, status, for: [reader], at: now).map { [$0] } ?? []
  }

  /// Each owner hears of the own devices.
  private func ofOwners(_ delivery: Delivery, _ status: JobStatus, at now: Int64) -> [Settlement.Notification] {
    let missed = delivery.owners(reached: false, isFinal: status.isFinal)
    let reached = notifications == .all ? delivery.owners(reached: true, isFinal: status.isFinal) : []
    let missedStatus = status.leavesUserUnreached ? status : .failed
    return [(missed, missedStatus), (reached, .accepted)].compactMap { owners, status in
      notification(of: delivery, status, for: owners.map(NotificationReader.user), at: now)
    }
  }

  private func notification(
    of delivery: Delivery, _ status: JobStatus, for readers: [NotificationReader], at now: Int64
  ) -> Settlement.Notification? {
    guard !readers.isEmpty else { return nil }
    do {
      // A payload too large for APNs is one that a client may still poll; not so many clients.
      let payload = try delivery.isForMany ? delivery.payload() : delivery.job.payload(delivery.match)
      let record = NotificationRecord(id: delivery.id, at: now, status: status, payload: payload)
      return Settlement.Notification(readers: readers, json: record.json())
    } catch {
      // Too large; a class without a policy was refused when the job was read.
      return nil
    }
  }
}
