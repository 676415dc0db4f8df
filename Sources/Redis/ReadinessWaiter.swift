import EventLoop

/// Somebody who waits until a connection is ready, for a bounded time.
@EventLoop
final class ReadinessWaiter {
  private var continuation: CheckedContinuation<Result<Void, RedisError>, Never>?
  private var timer: LoopTimer?

  init(
    _ continuation: CheckedContinuation<Result<Void, RedisError>, Never>, within: Duration,
    onTimeout: @escaping @EventLoop () -> RedisError
  ) {
    self.continuation = continuation
    timer = LoopTimer.after(within) { [weak self] in self?.settle(.failure(onTimeout())) }
  }

  var isSettled: Bool { continuation == nil }

  func settle(_ result: Result<Void, RedisError>) {
    timer = nil
    continuation.take()?.resume(returning: result)
  }
}
