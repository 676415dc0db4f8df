/// What a worker learns from its ``JobQueue``.
public enum QueueEvent {
  /// Jobs were claimed; each holds one permit.
  case claimed([Claim])
  /// Jobs were moved to the dead letters because of their size. The worker writes their records.
  case oversized([OversizedJob])
  /// Redis has confirmed a heartbeat: pushes that waited for a fresh lease may be sent.
  case leaseConfirmed
  /// The lease is lost, and with it every claim that was at-least-once; each of those is fenced.
  case leaseLost
  /// Claims have ended, or an answer to a claim has arrived: ``JobQueue/outstanding`` and
  /// ``JobQueue/mayStillBringJobs`` may have changed.
  case progress
}
