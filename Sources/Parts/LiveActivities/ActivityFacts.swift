import Jobs
import Operations
import PushModel
import Registry

/// What Redis knows of a Live Activity.
struct ActivityFacts: Sendable {
  /// How long the job of a newest state waits.
  struct Wait: Sendable, Equatable {
    /// Unix ms; nil if the job was not found.
    var since: Int64?
    /// Unix ms; nil if the job was not found.
    var until: Int64?
  }

  let id: String
  var state = ActivityState()
  /// The devices with an update token, in the order of their tokens.
  var devices: [Device] = []
  /// The waiting jobs that were looked at, by their ids.
  var waits: [String: Wait] = [:]
  var showsWholeTokens = false
  var text: TimeText

  func shown(_ token: DeviceToken) -> String { showsWholeTokens ? token.text : Words.shortened(token.text) }

  /// The newest states: of all devices, then of users with states of their own, in the order of their names.
  var states: [(user: Username?, newest: ActivityState.Newest)] {
    let own = state.users.sorted { $0.key < $1.key }.map { (user: Optional($0.key), newest: $0.value) }
    return (state.all.map { [(user: nil, newest: $0)] } ?? []) + own
  }
}
