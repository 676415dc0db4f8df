import Dispatch

/// A timer on the loop. Cancelled when released.
@EventLoop
public final class LoopTimer {
  private let source: any DispatchSourceTimer

  /// Fires once after `delay`.
  public static func after(_ delay: Duration, _ body: @escaping @EventLoop () -> Void) -> LoopTimer {
    LoopTimer(first: delay, interval: nil, body)
  }

  /// Fires every `interval`, for the first time after one interval.
  public static func every(_ interval: Duration, _ body: @escaping @EventLoop () -> Void) -> LoopTimer {
    LoopTimer(first: interval, interval: interval, body)
  }

  private init(first: Duration, interval: Duration?, _ body: @escaping @EventLoop () -> Void) {
    source = DispatchSource.makeTimerSource(queue: EventLoop.queue)
    let repeating = interval.map { DispatchTimeInterval.nanoseconds(Int($0.nanoseconds)) } ?? .never
    source.schedule(
      deadline: .now() + .nanoseconds(Int(first.nanoseconds)), repeating: repeating, leeway: .milliseconds(1))
    source.setEventHandler { EventLoop.assumeIsolated(body) }
    source.activate()
  }

  public func cancel() {
    source.cancel()
  }

  isolated deinit {
    source.cancel()
  }
}
