/// The type of an event. The raw value is the `type` of its JSON.
public enum EventType: String, Sendable, CaseIterable {
  /// A new device was registered, or the app, environment, platform or missing owner of a known one has changed.
  case tokenRegistered = "token.registered"
  /// A device was taken from its owner by another one.
  case tokenTransferred = "token.transferred"
  case tokenRemoved = "token.removed"
  /// APNs accepted a push to a device in the other environment than the one that it was registered with.
  case deviceCorrected = "device.corrected"
  /// A job was moved to the dead letters, other than as uncertain.
  case jobDead = "job.dead"
  /// A job was moved to the dead letters because APNs may have delivered it.
  case jobUncertain = "job.uncertain"
  /// No push of a job was accepted.
  case jobFailed = "job.failed"
  /// The end of a Live Activity was sent.
  case activityEnded = "activity.ended"
  case broadcastFinished = "broadcast.finished"
  case routePaused = "route.paused"
  case routeResumed = "route.resumed"
}
