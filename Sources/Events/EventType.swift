/// What an event tells about. The raw value stands in the event.
public enum EventType: String, Sendable, CaseIterable {
  /// A device was registered that was not, or its app, environment, platform or missing owner has changed.
  case tokenRegistered = "token.registered"
  /// A device was taken from its owner by another one.
  case tokenTransferred = "token.transferred"
  case tokenRemoved = "token.removed"
  /// A job was moved to the dead letters, other than as uncertain.
  case jobDead = "job.dead"
  /// A job was moved to the dead letters because APNs may have delivered it.
  case jobUncertain = "job.uncertain"
  /// No push of a job was accepted.
  case jobFailed = "job.failed"
  case broadcastFinished = "broadcast.finished"
  case routePaused = "route.paused"
  case routeResumed = "route.resumed"
}
