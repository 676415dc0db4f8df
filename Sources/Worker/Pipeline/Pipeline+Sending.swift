import APNs
import EventLoop
import Queue

/// Pushes are sent when the window has a permit for them.
extension Pipeline {
  func enter(_ drafts: [PushDraft], permit: consuming Permit? = nil) {
    switch window.enter(drafts, permit: permit) {
    case .send(let first):
      send(first)
      if drafts.count > 1 { sendWaiting() }
    case .wait: sendWaiting()
    case .postpone(let job): postpone(job)
    }
  }

  /// Sends the pushes whose turn it is, as permits allow.
  func sendWaiting() {
    // A push that is not sent gives its permit back at once.
    guard !isSendingWaiting else { return }
    isSendingWaiting = true
    defer { isSendingWaiting = false }
    while let draft = window.next() { send(draft) }
  }

  /// The window has a permit for the push.
  func send(_ draft: PushDraft) {
    guard !draft.delivery.claim.isFenced else {
      draft.page?.broadcast.abandon()
      // The window may be sending other drafts now.
      EventLoop.atEndOfTurn { [self] in window.leave(draft, isAnswered: false) }
      return
    }
    guard !draft.delivery.claim.isCancelled else { return drop(draft) }
    guard queue.lease.isFresh else {
      held.add(draft)
      return queue.lease.beat()
    }
    draft.sender = self
    observer.sending(draft)
    draft.content.client?.send(draft)
  }

  func ended(_ draft: PushDraft, _ sent: SendOutcome) {
    window.leave(draft, isAnswered: sent.status != 0)
    answered(sent, draft)
  }
}
