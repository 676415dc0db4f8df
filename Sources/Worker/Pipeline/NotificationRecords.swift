import PushModel
import Credentials
import EventLoop
import Jobs
import JSON
import Queue
import Registry

/// Makes the notification records that are kept for users and instances that poll.
@EventLoop
struct NotificationRecords {
  private let policy: WorkerConfiguration.NotificationPolicy

  init(_ configuration: WorkerConfiguration) {
    policy = configuration.notifications
  }

  var areKept: Bool { policy != .off }

  /// Whether the job ends with records for owners that have not been looked up.
  func needOwners(of delivery: Delivery, _ status: JobStatus) -> Bool {
    switch delivery.job.addressee {
    case .user, .userToken, .instance, .app, .activity, .activityToken, .channel: return false
    case .token, .tokens:
      guard !delivery.job.isOfActivity, delivery.devices == nil, status.isFinal else { return false }
    }
    return switch policy {
    case .off: false
    case .unsent: status.leavesUserUnreached
    case .all: status != .duplicate && status != .cancelled
    }
  }

  /// The records that are written with the settlement of an attempt; none for a broadcast. `now` is Unix ms.
  func records(of delivery: Delivery, _ status: JobStatus, at now: Int64) -> [Settlement.Notification] {
    // Clients that poll do not get a cancelled job either.
    guard areKept, status != .duplicate, status != .cancelled, keepsAll(of: delivery) || status != .accepted else {
      return []
    }
    // What a Live Activity shows is out of date when it is polled.
    if delivery.job.isOfActivity { return [] }
    switch delivery.job.addressee {
    case .user(let name), .userToken(let name, _): return ofWholeJob(delivery, status, for: .user(name), at: now)
    case .instance(let id): return ofWholeJob(delivery, status, for: .instance(id), at: now)
    case .token, .tokens: return ofOwners(delivery, status, at: now)
    case .app, .activity, .activityToken, .channel: return []
    }
  }

  /// The record for `users` whom no push will reach; nil if it is not kept.
  func unsent(_ delivery: Delivery, for users: [Username]) -> Settlement.Notification? {
    guard areKept else { return nil }
    return record(of: delivery, .unsent, for: users.map(NotificationReader.user), at: Clock.unixMilliseconds)
  }

  /// An instance polls for everything: a push only wakes the phone.
  private func keepsAll(of delivery: Delivery) -> Bool {
    if case .instance = delivery.job.addressee { return true }
    return policy == .all
  }

  /// The status of the job is the one addressee's. Of a job that a policy holds there is a record as soon as it is held, and no
  /// other one, if all are kept.
  private func ofWholeJob(
    _ delivery: Delivery, _ status: JobStatus, for reader: NotificationReader, at now: Int64
  ) -> [Settlement.Notification] {
    let isUnreached = delivery.tally.result.accepted == 0 && status.leavesUserUnreached
    let isDue = keepsAll(of: delivery) ? delivery.isNew(at: status) : status.isFinal && isUnreached
    guard isDue else { return [] }
    return record(of: delivery, status, for: [reader], at: now).map { [$0] } ?? []
  }

  /// The status that each owner gets depends only on the owner's own devices.
  private func ofOwners(_ delivery: Delivery, _ status: JobStatus, at now: Int64) -> [Settlement.Notification] {
    let missed = delivery.owners(reached: false, isFinal: status.isFinal)
    let reached = policy == .all ? delivery.owners(reached: true, isFinal: status.isFinal) : []
    let missedStatus = status.leavesUserUnreached ? status : .failed
    return [(missed, missedStatus), (reached, .accepted)].compactMap { owners, status in
      record(of: delivery, status, for: owners.map(NotificationReader.user), at: now)
    }
  }

  private func record(
    of delivery: Delivery, _ status: JobStatus, for readers: [NotificationReader], at now: Int64
  ) -> Settlement.Notification? {
    guard !readers.isEmpty else { return nil }
    do {
      // One addressee may poll a payload that is too large for APNs; for many addressees it would be stored many times.
      let payload = try delivery.isForMany ? delivery.payload() : delivery.job.payload(delivery.terms)
      let json = NotificationRecords.json(id: delivery.id, at: now, status: status, payload: payload)
      return Settlement.Notification(readers: readers, json: json)
    } catch {
      // Too large. A class without a policy was refused when the job was read.
      return nil
    }
  }

  /// `{"id","at","status","payload":{…}}`, `at` in Unix ms.
  private static func json(id: String, at now: Int64, status: JobStatus, payload: [UInt8]) -> [UInt8] {
    var writer = JSONWriter(capacity: payload.count + 120)
    writer.beginObject()
    writer.key("id")
    writer.string(id)
    writer.key("at")
    writer.integer(now)
    writer.key("status")
    writer.string(status.rawValue)
    writer.key("payload")
    writer.raw(payload)
    writer.endObject()
    return writer.bytes
  }
}

extension Delivery {
  /// Whether the attempt is the first at whose end a poller may learn of the job: it has ended, or it is held.
  fileprivate func isNew(at status: JobStatus) -> Bool {
    let holds = state.history.entries.count { if case .deferred = $0.event { true } else { false } }
    return status == .deferred ? holds == 1 : status.isFinal && holds == 0
  }

  /// Whether one record is kept for each of several owners.
  var isForMany: Bool {
    switch job.addressee {
    case .tokens, .app: true
    case .user, .userToken, .token, .instance, .activity, .activityToken, .channel: false
    }
  }

  /// Why the payload cannot be kept once for each of several owners: APNs' limit applies to it. Nil if it can.
  var sizeFaultForMany: String? {
    guard isForMany else { return nil }
    do {
      _ = try payload()
      return nil
    } catch {
      return error.reason
    }
  }
}

extension NotificationReader {
  static func user(_ name: Username) -> NotificationReader {
    NotificationReader(
      name: name.text, stream: QueueKeys.notifications(name), credentials: CredentialKeys.credentials(.user),
      device: RegistryKeys.userTokens(name))
  }

  static func instance(_ id: String) -> NotificationReader {
    NotificationReader(
      name: id, stream: QueueKeys.instanceNotifications(id), credentials: CredentialKeys.credentials(.instance),
      device: RegistryKeys.instance(id))
  }
}
