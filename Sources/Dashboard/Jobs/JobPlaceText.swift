import Jobs
import Operations
import Queue

/// Where a job is, in words.
enum JobPlaceText {
  /// `waiting in its queue`, for a sentence that begins with "it is now".
  static func now(_ place: JobLocation.Place) -> String {
    switch place {
    case .waiting: "waiting in its queue"
    case .inFlight(let worker): "in flight at worker \(worker)"
    case .retry: "waiting for its next attempt"
    case .scheduled: "scheduled"
    case .paused: "a paused broadcast"
    case .dead: "a dead letter"
    case .ended(let status): status.rawValue
    case .unknown: "not known any more"
    }
  }

  /// The error of an action on a job that is elsewhere by now.
  static func movedOn(_ place: JobLocation.Place) -> PageError {
    .movedOn("The job has moved on: it is now \(now(place)). Nothing was changed.")
  }

  static func badge(_ location: JobLocation) -> (text: String, tone: Tone) {
    switch location.place {
    case .waiting: ("waiting", .info)
    case .inFlight: ("in flight", .info)
    case .retry: ("retry", .warn)
    case .scheduled: (location.record?.status == .deferred ? "deferred" : "scheduled", .info)
    case .paused: ("paused", .warn)
    case .dead: ("dead", .bad)
    case .ended(let status): (status.rawValue, tone(status))
    case .unknown: ("unknown", .neutral)
    }
  }

  static func tone(_ status: JobStatus) -> Tone {
    switch status {
    case .accepted: .good
    case .partial, .retrying, .expired: .warn
    case .failed, .dead: .bad
    default: .neutral
    }
  }
}
