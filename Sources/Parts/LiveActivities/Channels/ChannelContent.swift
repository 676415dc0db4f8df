import EventLoop
import Jobs
import PushModel
import Queue
import Registry
import Worker

/// Finds the channels of jobs.
@EventLoop
final class ChannelLookup: AddresseeLookup {
  enum Found {
    case channel(Channel)
    /// Why the attempt ends.
    case none(GateAnswer)
  }

  private let channels: Channels
  private let composer: PushComposer
  private let queue: JobQueue

  init(_ context: WorkerContext) {
    channels = Channels(connection: context.connection)
    composer = PushComposer(
      bundleID: context.configuration.bundleID, environment: context.configuration.defaultEnvironment,
      clients: context.clients)
    queue = context.queue
  }

  func find(_ delivery: Delivery, _ completion: @escaping @EventLoop (FoundAddressee) -> Void) {
    guard case .channel(let name) = delivery.job.addressee else {
      return completion(.none(.refuse(reason: "to: no such addressee")))
    }
    find(name, for: delivery) { [queue] found in
      switch found {
      case .none(let why): completion(.none(why))
      case .channel(let channel):
        let devices = delivery.stillOpen(channel.devices)
        let job = delivery.activityJob(queue: queue.name(of: delivery))
        let content = ChannelContent(delivery, channel.storage, timestamp: job?.order.timestamp ?? 0)
        completion(.devices(devices, content, .channel(environments: devices.count)))
      }
    }
  }

  /// Reads the channel of the job's app.
  func find(_ name: String, for delivery: Delivery, _ completion: @escaping @EventLoop (Found) -> Void) {
    guard let app = delivery.job.app ?? composer.bundleID else {
      return completion(.none(.refuse(reason: "app: the job names no app, and APNS_BUNDLE_ID is not set")))
    }
    channels.read(name, of: app) { result in
      switch result {
      case .failure(let error): completion(.none(.postpone(error)))
      case .success(nil):
        let fix = "create it: martlet channels create \(name) --app \(app)"
        completion(.none(.refuse(reason: "channel: \(app) has no channel \(name); \(fix)")))
      case .success(let channel?): completion(.channel(channel))
      }
    }
  }

  /// Leaves out the devices in whose environment the channel does not exist.
  func narrow(_ delivery: Delivery, to channel: Channel) {
    var (reachable, unreachable): ([Device], [UnreachableDevice]) = ([], [])
    for device in delivery.targets {
      if channel.ids[composer.environment(of: device, app: delivery.job.app)] != nil {
        reachable.append(device)
      } else {
        unreachable.append(UnreachableDevice(token: device.token, reason: Tally.noChannel))
      }
    }
    delivery.tally.recordUnreachable(unreachable)
    delivery.targets = reachable
  }
}

/// What a job sends to a channel: one broadcast in each environment in which it exists. Its ids there take the place of device tokens.
@EventLoop
final class ChannelContent: SentContent {
  /// APNs keeps the newest broadcast to a channel for at most this long, in seconds.
  private static let longestStorage: Int64 = 8 * 3600

  /// The attempt holds its content.
  private unowned let delivery: Delivery
  private let storage: ChannelStorage
  /// Of a Live Activity, unix seconds.
  private let timestamp: Int64

  init(_ delivery: Delivery, _ storage: ChannelStorage, timestamp: Int64) {
    self.delivery = delivery
    self.storage = storage
    self.timestamp = timestamp
  }

  func payload(in environment: PushEnvironment?) throws(JobError) -> [UInt8] {
    try delivery.job.apnsPayload(delivery.terms, timestamp: timestamp)
  }

  var priority: Int? { delivery.priority }

  /// A broadcast must have one: 0 if APNs keeps nothing.
  var expiration: Int64? {
    let job = delivery.job
    guard storage == .newest, job.expiration != 0, job.ttl != 0 else { return 0 }
    return delivery.state.expiresAt.map { $0 / 1000 }
      ?? delivery.claim.claimedAt / 1000 + ChannelContent.longestStorage
  }

  var isBroadcast: Bool { true }

  var jobID: String { delivery.jobID }
}

extension Channel {
  /// Its ids, as devices of their environments.
  var devices: [Device] {
    PushEnvironment.allCases.compactMap { environment in
      ids[environment].map { Device(token: DeviceToken(verbatim: $0), bundleID: bundleID, environment: environment) }
    }
  }
}
