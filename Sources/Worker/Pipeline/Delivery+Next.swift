import Queue
import EventLoop
import Jobs

extension Delivery {
  /// The element that runs the next attempt: only the devices still open, with what is known so far.
  func nextElement(countsAttempt: Bool) -> [UInt8] {
    var envelope = claim.envelope
    if countsAttempt { envelope.attempts += 1 }
    envelope.state = nextState.json()
    return envelope.element
  }

  /// The element that waits for its time.
  var scheduledElement: [UInt8] {
    var envelope = claim.envelope
    var next = state
    next.isReleased = true
    envelope.state = next.json()
    return envelope.element
  }

  /// What stands in a dead letter: requeued, it tries only what was left open or may have arrived.
  var buriedEnvelope: Envelope {
    var envelope = claim.envelope
    guard tally.badJobReason == nil else { return envelope }
    envelope.state = nextState.json()
    return envelope
  }

  private var nextState: AttemptState {
    var next = state
    if isProgressUnknown {
      next.isReleased = true
      return next
    }
    next.result = tally.result
    next.isReleased = true
    next.uncertain = tally.uncertain
    next.reached = ownersReachedWithOpenDevices
    // Cut short with nothing tried: all that was open before still is. A broadcast's cursor tells the rest.
    if !isCutShort || next.cursor != nil { next.open = tally.open }
    return next
  }
}
