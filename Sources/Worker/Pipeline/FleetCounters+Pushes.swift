import APNs
import Queue

extension FleetCounters {
  /// Counts a push that has ended and, if APNs refused it, why.
  func count(_ outcome: PushOutcome, _ sent: SendOutcome, app: String) {
    switch outcome {
    case .accepted: return pushed(.accepted, app: app)
    case .failed, .badJob: pushed(.failed, app: app)
    case .stale: pushed(.stale, app: app)
    case .uncertain: pushed(.uncertain, app: app)
    case .open: pushed(.open, app: app)
    }
    // Reasons of other failures are texts, and no words of APNs.
    if case .answered(let answer) = sent, answer.isOfAPNs, let reason = answer.reason { refused(because: reason) }
  }
}
