import PushModel
import EventLoop

/// One environment and topic: what is refused for its configuration is refused for all of its pushes.
@EventLoop
final class Route {
  /// Why nothing is sent but a probe now and then.
  struct Pause {
    let reason: String
    /// Unix milliseconds.
    let since: Int64
    /// On CLOCK_MONOTONIC, nanoseconds.
    var nextProbeAt: UInt64
  }

  let environment: PushEnvironment
  let topic: String
  /// Users and instances, each counted once.
  private var ownedGuard = RemovalGuard()
  /// Devices of nobody, by token: whoever registers thousands of them stops the removal of no user's devices.
  private var unownedGuard = RemovalGuard()
  /// When the removal of tokens stopped, unix milliseconds, and the answer that did it.
  private(set) var removalStop: (reason: String, since: Int64)?
  private(set) var pause: Pause?
  /// When APNs last took a push of this route, on CLOCK_MONOTONIC, nanoseconds.
  var provenAt: UInt64 = 0

  init(environment: PushEnvironment, topic: String) {
    self.environment = environment
    self.topic = topic
  }

  var isPaused: Bool { pause != nil }

  /// False when it is paused already; the next probe is put off then.
  func pause(reason: String, since: Int64, nextProbeAt: UInt64) -> Bool {
    guard pause == nil else {
      pause?.nextProbeAt = nextProbeAt
      return false
    }
    pause = Pause(reason: reason, since: since, nextProbeAt: nextProbeAt)
    return true
  }

  func resume() { pause = nil }

  /// Whether a push may be sent now: the route is not paused, or it is time for a probe.
  func admits(now: UInt64) -> Bool {
    guard let pause else { return true }
    return now >= pause.nextProbeAt
  }

  /// Makes one push the probe, if it is time for one.
  func takeProbe(now: UInt64, next: UInt64) -> Bool {
    guard let pause, now >= pause.nextProbeAt else { return false }
    self.pause?.nextProbeAt = next
    return true
  }

  /// Notes what APNs said of a device's token. True: removal has stopped, or goes on again.
  func recordToken(of push: Push, isSuspect: Bool, reason: String?) -> Bool {
    if !isSuspect, push.owner == nil ? unownedGuard.isAllGood : ownedGuard.isAllGood { return false }
    let hasChanged =
      if let owner = push.owner {
        ownedGuard.record(owner: owner.hash, isSuspect: isSuspect)
      } else {
        unownedGuard.record(owner: push.token.hashValue, isSuspect: isSuspect)
      }
    guard hasChanged else { return false }
    let was = removalStop != nil
    removalStop = isRemovalStopped ? removalStop ?? (reason ?? "", Clock.unixMilliseconds) : nil
    return was != isRemovalStopped
  }

  /// Of users' devices, of nobody's, or of both.
  var isRemovalStopped: Bool { ownedGuard.isTripped || unownedGuard.isTripped }

  func isRemovalStopped(for push: Push) -> Bool {
    push.owner == nil ? unownedGuard.isTripped : ownedGuard.isTripped
  }

  /// Owners with refused tokens, and owners in all, of those whose devices are no longer removed.
  var removalCounts: (suspect: Int, all: Int) {
    let guards = [ownedGuard, unownedGuard].filter(\.isTripped)
    return (guards.reduce(0) { $0 + $1.suspects }, guards.reduce(0) { $0 + $1.ownerCount })
  }
}
