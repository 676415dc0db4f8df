import Credentials
import Queue
import EventLoop
import Jobs
import Registry

/// Who is to find the job when polling.
extension Delivery {
  /// Whether its record is kept once per owner.
  var isForMany: Bool {
    switch job.addressee {
    case .tokens, .app: true
    case .user, .userToken, .token, .instance: false
    }
  }

  /// Whether the owners of the tokens that the job names have to be looked up.
  var hasUnknownOwners: Bool {
    switch job.addressee {
    case .token, .tokens: devices == nil
    case .user, .userToken, .instance, .app: false
    }
  }

  /// Owners of the tokens that the job names whose fate is certain: at the end all, before that those without an open device.
  func owners(reached wantsReached: Bool, isFinal: Bool) -> [String] {
    guard let devices else { return [] }
    var reached = reached
    var owners = Set(devices.compactMap(\.username))
    if case .token = job.addressee, tally.result.accepted > 0 { reached = owners }
    if !isFinal { owners.subtract(usernames(of: tally.open + tally.uncertain)) }
    return (wantsReached ? owners.intersection(reached) : owners.subtracting(reached)).sorted()
  }

  /// Of a job to several tokens; of others the counters tell.
  func noteReached(_ device: Device, by disposition: PushOutcome) {
    guard case .tokens = job.addressee, disposition == .accepted, let owner = device.username else { return }
    reached.insert(owner)
  }

  /// For the next attempt, which sees the open devices alone.
  var ownersReachedWithOpenDevices: [String] {
    guard !reached.isEmpty, devices != nil else { return state.reached }
    return usernames(of: tally.open + tally.uncertain).intersection(reached).sorted()
  }

  private func usernames(of tokens: [String]) -> Set<String> {
    let tokens = Set(tokens)
    return Set((devices ?? []).compactMap { tokens.contains($0.token) ? $0.username : nil })
  }
}

extension NotificationReader {
  static func user(_ name: String) -> NotificationReader {
    NotificationReader(
      name: name, stream: QueueKeys.notifications(name), credentials: CredentialKeys.credentials(.user),
      device: RegistryKeys.userTokens(name))
  }

  static func instance(_ id: String) -> NotificationReader {
    NotificationReader(
      name: id, stream: QueueKeys.instanceNotifications(id), credentials: CredentialKeys.credentials(.instance),
      device: RegistryKeys.instance(id))
  }
}
