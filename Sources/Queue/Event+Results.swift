public import Events
import JSON
public import Jobs

extension Event {
  /// A job that ended without an accepted push.
  public static func failed(_ job: EventJob, _ result: JobResult, at now: Int64) -> Event {
    Event(.jobFailed, at: now, data: job.object + ["attempts": result.attempts] + counts(result))
  }

  /// A job that has ended a Live Activity: APNs accepted its push. `user` is nil if it was for the devices of all users.
  public static func ended(
    activity: String, user: String?, _ job: EventJob, _ result: JobResult, at now: Int64
  ) -> Event {
    let end: JSONObject = ["activity": activity.unlessEmpty, "user": user?.unlessEmpty, "attempts": result.attempts]
    return Event(.activityEnded, at: now, data: job.object + end + counts(result))
  }

  /// A broadcast that ended with this status.
  public static func finished(
    _ job: EventJob, app: String, _ status: JobStatus, _ result: JobResult, at now: Int64
  ) -> Event {
    let end: JSONObject = ["app": app.unlessEmpty, "status": status.rawValue, "attempts": result.attempts]
    return Event(.broadcastFinished, at: now, data: job.object + end + counts(result))
  }

  private static func counts(_ result: JobResult) -> JSONObject {
    [
      "accepted": result.accepted, "failed": result.failed, "stale": result.stale, "uncertain": result.uncertain,
      "reasons": JSONObject(result.reasons.map { ($0.reason, $0.count) }),
    ]
  }
}
