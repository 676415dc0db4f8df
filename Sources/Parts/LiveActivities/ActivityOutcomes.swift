import Jobs
import Queue
import Worker

extension JobOutcome {
  static let noTokenYet = "no_token_yet"

  static let stateIsOpen = "StateIsOpen: the job of the newest state has not ended"

  /// Another job has brought a newer state of the Live Activity; nil if it is unknown.
  static func superseded(by newer: String?) -> JobOutcome {
    JobOutcome(status: .superseded, exit: .acknowledge, reason: newer.map { "superseded by \($0)" })
  }

  /// Keeps the state of a Live Activity until a token is registered. `until` is when the job looks for one itself, unix ms.
  static func waitingForToken(until time: Int64) -> JobOutcome {
    JobOutcome(status: .deferred, exit: .schedule(at: time), reason: noTokenYet)
  }
}

extension Tally {
  /// Another job has started the Live Activity on the device.
  static let startedBefore = "StartedBefore"
  /// The channel that is to update the Live Activity does not exist in the device's environment.
  static let noChannel = "NoChannelInEnvironment"
}

extension Delivery {
  /// The activity gets more updates than APNs may deliver.
  func addTooManyUpdates() { add(.tooManyUpdates) }

  /// A device gets more starts of Live Activities than it may show.
  func addTooManyStarts() { add(.tooManyStarts) }
}
