/// The type of an event. The raw value is the `type` of its JSON.
public enum EventType: String, Sendable, CaseIterable {
  case tokenRegistered = "token.registered"
  case tokenTransferred = "token.transferred"
  case tokenRemoved = "token.removed"
  case deviceCorrected = "device.corrected"
  case jobDead = "job.dead"
  case jobUncertain = "job.uncertain"
  case jobFailed = "job.failed"
  case activityEnded = "activity.ended"
  case broadcastFinished = "broadcast.finished"
  case routePaused = "route.paused"
  case routeResumed = "route.resumed"

  /// When it is written, and the members of its `data`, in Markdown: its row in docs/events.md.
  package var row: (when: String, members: String) {
    switch self {
    case .tokenRegistered:
      (
        """
        a device is registered that was not, or its app, environment, platform, kind, phone or Live Activity has \
        changed. A renewal that changes only the time is no event.
        """,
        """
        `token`, `user` or `instance`, `app`, `environment`, `platform`, `kind` (absent: `app`), `deviceId`, \
        `activity` (of a token of a [Live Activity](live-activities.md): its id, or the attributes type)
        """
      )
    case .tokenTransferred:
      (
        """
        a user registers a device that belonged to another user. The other tokens of the phone (`deviceId`) have an \
        event each.
        """,
        "`token`, `from`, `to`, `app`, `environment`, `platform`, `kind`, `deviceId`, `activity`"
      )
    case .tokenRemoved:
      (
        "a device is no longer registered",
        "as `token.registered`, and `reason` ([below](#reasons-of-tokenremoved))"
      )
    case .deviceCorrected:
      (
        """
        APNs accepted a push to a device in the other environment than the stored one, which is replaced. An \
        environment that was unknown is stored without an event.
        """,
        "as `token.registered`, with the new `environment`, and `from`: the one before"
      )
    case .jobDead:
      (
        "a job was moved to the dead letters",
        "`id`, `queue`, `reason`, `attempts`"
      )
    case .jobUncertain:
      (
        """
        a job was moved to the dead letters because APNs may have delivered it \
        ([atMostOnce](jobs.md#uncertain-pushes)); then there is no `job.dead`
        """,
        "`id`, `queue`, `reason`, `attempts`"
      )
    case .jobFailed:
      (
        """
        a job ended with the status `failed`: APNs has accepted it for none of its devices. A broadcast has \
        `broadcast.finished` instead.
        """,
        "`id`, `queue`, `attempts`, `accepted`, `failed`, `stale`, `uncertain`, `reasons`"
      )
    case .activityEnded:
      (
        """
        a job has ended a [Live Activity](live-activities.md): APNs accepted its end for at least one device. On a \
        device whose update token APNs calls gone (410), the activity ends with `token.removed`.
        """,
        """
        `id`, `queue`, `activity`, `user` (if the end was for one user), `attempts`, and the counters of \
        `job.failed`
        """
      )
    case .broadcastFinished:
      (
        "a job to an app's audience has ended",
        "`id`, `queue`, `app`, `status`, `attempts`, and the counters of `job.failed`"
      )
    case .routePaused:
      (
        "a worker has paused a [route](alerts.md#martletroutepaused)",
        "`topic`, `environment`, `reason`, `worker`, `since`, `fix`"
      )
    case .routeResumed:
      (
        "that worker sends to it again",
        "`topic`, `environment`, `reason`, `worker`, `since`"
      )
    }
  }
}
