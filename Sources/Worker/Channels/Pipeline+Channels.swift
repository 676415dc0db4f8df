import APNs
import EventLoop
import Jobs
import PushModel
import Queue
import Registry

/// Jobs to a channel: one broadcast in each environment in which it exists. Its ids there take the place of device tokens.
extension Pipeline {
  func resolve(_ delivery: Delivery, toChannel name: String) {
    guard clients != nil else { return endUnsent(delivery) }
    find(name, delivery) { [self] in send(delivery, to: $0) }
  }

  /// Reads the channel of the job's app, or ends the attempt.
  func find(_ name: String, _ delivery: Delivery, then next: @escaping @EventLoop (Channel) -> Void) {
    guard let app = delivery.job.app ?? composer.bundleID else {
      return endAttempt(delivery, AttemptEnd(refusal: "app: the job names no app, and APNS_BUNDLE_ID is not set"))
    }
    channels.read(name, of: app) { [self] result in
      switch result {
      case .failure(let error): postpone(delivery, error)
      case .success(nil):
        let fix = "create it: martlet channels create \(name) --app \(app)"
        endAttempt(delivery, AttemptEnd(refusal: "channel: \(app) has no channel \(name); \(fix)"))
      case .success(let channel?): next(channel)
      }
    }
  }

  private func send(_ delivery: Delivery, to channel: Channel) {
    guard queue.lease.isFresh else { return hold([delivery]) }
    let places = PushEnvironment.allCases.compactMap { environment in
      channel.ids[environment].map {
        Device(token: DeviceToken(verbatim: $0), bundleID: channel.bundleID, environment: environment)
      }
    }
    let open = delivery.stillOpen(places)
    delivery.channelStorage = channel.storage
    delivery.resolve(to: open)
    observer.resolved(delivery, environments: open.count)
    guard let content = delivery.activityContent(queue: queueName(of: delivery)) else {
      return submit(delivery, to: open)
    }
    submit(delivery, to: open, of: content)
  }
}

extension Delivery {
  /// APNs keeps the newest broadcast to a channel for at most this long, in seconds.
  private static let longestStorage: Int64 = 8 * 3600

  /// The header of a broadcast, which must have one: 0 if APNs keeps nothing.
  func expiration(ofBroadcast storage: ChannelStorage) -> Int64 {
    guard storage == .newest, job.expiration != 0, job.ttl != 0 else { return 0 }
    return state.expiresAt.map { $0 / 1000 } ?? claim.claimedAt / 1000 + Delivery.longestStorage
  }
}
