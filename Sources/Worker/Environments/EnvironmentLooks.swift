import APNs
import EventLoop
import Jobs
import Registry

/// The looks of a worker: pushes that one environment has refused with `BadDeviceToken` and that are sent to the other one. They need
/// no permit and have limits of their own.
@EventLoop
final class EnvironmentLooks {
  struct Look {
    let first: SendOutcome
    /// Whether route and job allow a removal because of the first answer.
    let mayRemove: Bool
    /// The push that was refused.
    let refused: PushDraft
    /// The same push to the other environment.
    let draft: PushDraft
  }

  private var limits = LookLimits(now: Clock.monotonicNanoseconds)
  private var waiting = FrontQueue<Look>()
  private var send: @EventLoop (Look) -> Void = { _ in }
  /// Waiting looks whose turn it is, while one is being sent.
  private var due = 0
  private var isSending = false

  /// Call it once, before anything begins. Each look that was sent must be reported with ``ended()``.
  func connect(send: @escaping @EventLoop (Look) -> Void) { self.send = send }

  /// Sends the look now or later, or decides that it must not be sent.
  func begin(_ look: Look) -> LookLimits.Decision {
    let decision = limits.begin(for: look.draft.lookOwner, now: Clock.monotonicNanoseconds)
    switch decision {
    case .send: send(look)
    case .wait: waiting.append(look)
    case .busy, .refuse: break
    }
    return decision
  }

  func ended() {
    guard limits.ended() else { return }
    due += 1
    // A look that is not sent ends at once.
    guard !isSending else { return }
    isSending = true
    defer { isSending = false }
    while due > 0, let look = waiting.popFirst() {
      due -= 1
      send(look)
    }
  }

  /// Removes and returns the looks that were not sent.
  func drainWaiting() -> [Look] {
    limits.clearWaiting()
    defer { waiting = FrontQueue() }
    return Array(waiting.elements)
  }
}

extension PushDraft {
  fileprivate var lookOwner: LookLimits.Owner {
    if let instance = delivery.instance { return .instance(instance) }
    return device.username.map { .user($0) } ?? .token(device.token)
  }
}
