import APNs
import EventLoop
import Jobs
import PushModel
import Registry

/// The looks of a worker: pushes that one environment has refused with `BadDeviceToken` and that are sent to the other one. They need
/// no permit and have limits of their own.
@EventLoop
final class EnvironmentLooks {
  struct Look {
    let first: PushAnswer
    /// The push that was refused.
    let refused: PushDraft
    /// The same push to the other environment.
    let draft: PushDraft
  }

  private var limits = LookLimits(now: Clock.monotonicNanoseconds)
  private var waiting = FrontQueue<Look>()

  /// Decides whether the look is sent, now or later. Report its end with ``end()`` if it is.
  func begin(_ look: Look) -> LookLimits.Decision {
    let decision = limits.begin(for: look.draft.lookOwner, now: Clock.monotonicNanoseconds)
    if decision == .wait { waiting.append(look) }
    return decision
  }

  /// A look has ended. Returns the one that is to be sent now, if one waits.
  func end() -> Look? { limits.ended() ? waiting.popFirst() : nil }

  /// Removes and returns the looks that were not sent.
  func drainWaiting() -> [Look] {
    limits.clearWaiting()
    return waiting.removeAll()
  }
}

extension PushDraft {
  fileprivate var lookOwner: LookLimits.Owner {
    if let instance = delivery.instance { return .instance(instance) }
    return device.username.map { .user($0) } ?? .token(device.token.text)
  }
}
