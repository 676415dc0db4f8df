import Activities
import EventLoop
import Jobs
import PushModel
import Queue
import Registry

/// Whom a job is for.
extension Delivery {
  /// The user addressed, if it is one.
  var username: String? {
    switch job.addressee {
    case .user(let name), .userToken(let name, _): name
    case .activity(_, let user): user
    case .token, .tokens, .instance, .app, .activityToken, .channel: nil
    }
  }

  /// The instance addressed, if it is one.
  var instance: String? {
    if case .instance(let id) = job.addressee { id } else { nil }
  }

  /// What to ask the registry; nil for a broadcast, which asks page by page, and for a channel.
  var query: DeviceQuery? {
    switch job.addressee {
    case .user(let name): .user(name)
    case .userToken(let name, let token): .userToken(user: name, token: token)
    case .token(let token): .token(token)
    case .tokens(let tokens): .tokens(Delivery.distinct(tokens))
    case .instance(let id): .instance(id)
    case .activity(let id, _), .activityToken(let id, _): .activity(id)
    case .app, .channel: nil
    }
  }

  /// The activity, and the job as its state knows it, if the job must be announced before its tokens are looked up.
  func unannounced(queue: String) -> (activity: String, ActivityJob)? {
    guard activity == nil, case .activity(let id, _) = job.addressee else { return nil }
    return activityJob(queue: queue).map { (id, $0) }
  }

  /// In their order. A device gets a job once, even if the job names it several times.
  private static func distinct(_ tokens: [DeviceToken]) -> [DeviceToken] {
    var seen: Set<DeviceToken> = []
    return tokens.filter { seen.insert($0).inserted }
  }

  /// `devices` without those that an earlier attempt finished.
  func stillOpen(_ devices: [Device]) -> [Device] {
    guard let open = state.open else { return devices }
    // An instance has one device, which may have changed.
    if case .instance = job.addressee, !open.isEmpty { return devices }
    let wanted = Set(open)
    return devices.filter { wanted.contains($0.token) }
  }

  /// `devices` without those of other kinds, unless the job names their tokens.
  func ofItsKind(_ devices: [Device]) -> [Device] {
    switch job.addressee {
    case .user, .instance: break
    case .userToken, .token, .tokens, .app, .activity, .activityToken, .channel: return devices
    }
    if let start = job.liveActivity?.start {
      return devices.filter { $0.kind == .pushtostart && $0.activity == start.attributesType }
    }
    let kind = job.pushType.kind
    // A loop: closures that are isolated check their executor at every call.
    for index in devices.indices where devices[index].kind != kind { return devices.filter { $0.kind == kind } }
    return devices
  }
}
