import PushModel
import Registry

/// A channel in one environment: what Redis knows, compared with APNs' list.
struct ChannelEntry: Sendable, Equatable {
  enum State: String, Sendable {
    /// Both know it.
    case ok
    /// APNs does not know it: jobs to it fail there.
    case missing
    /// Only APNs knows it, as after a creation whose answer was lost.
    case orphan
    /// APNs could not be asked.
    case unknown
  }

  /// Nil for an orphan.
  let name: String?
  let environment: PushEnvironment
  let id: String
  /// Nil for an orphan.
  let storage: ChannelStorage?
  let state: State

  /// Compares the channels of an app with APNs' list of an environment, nil if that is not known.
  static func compared(
    _ channels: [Channel], in environment: PushEnvironment, with list: [String]?
  ) -> [ChannelEntry] {
    let listed = Set(list ?? [])
    var named: Set<String> = []
    var entries = channels.compactMap { channel in
      channel.ids[environment].map { id in
        named.insert(id)
        return ChannelEntry(
          name: channel.name, environment: environment, id: id, storage: channel.storage,
          state: list == nil ? .unknown : listed.contains(id) ? .ok : .missing)
      }
    }
    entries += listed.subtracting(named).sorted().map {
      ChannelEntry(name: nil, environment: environment, id: $0, storage: nil, state: .orphan)
    }
    return entries
  }
}

/// What was done about a channel in one environment.
struct ChannelStep: Sendable, Equatable {
  enum Result: String, Sendable {
    case created
    /// It existed before.
    case exists
    case adopted
    case deleted
    /// APNs did not know it any more.
    case gone
    /// Nothing was done.
    case failed
  }

  let environment: PushEnvironment
  /// Nil if there is none.
  let id: String?
  let result: Result
  /// Why nothing was done, and what to do.
  var fault: String?
}
