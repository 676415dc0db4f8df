import EventLoop

extension RedisConnection {
  /// Waits until the connection is ready.
  ///
  /// Throws ``RedisError/notSent(_:)`` with the reason of the last failed attempt if `within` passes first.
  public func ready(within: Duration) async throws(RedisError) {
    if isReady { return }
    if isClosed { throw .notSent("the connection to redis was closed") }
    try await waiters.wait(within) { [weak self] in
      self?.unreachable(within) ?? .notSent("the connection to redis was closed")
    }
  }

  private func unreachable(_ within: Duration) -> RedisError {
    .notSent(
      "redis at \(endpoint.summary) was not ready within \(within): \(outage?.reason ?? "no answer yet"); "
        + "check REDIS_URL and that the server runs")
  }
}

/// The tasks that wait until a connection is ready.
@EventLoop
final class ReadinessWaiters {
  private var waiters: [ReadinessWaiter] = []

  /// Waits for ``resume(_:)``. Throws the error of `onTimeout` if `within` passes first.
  func wait(_ within: Duration, onTimeout: @escaping @EventLoop () -> RedisError) async throws(RedisError) {
    let result = await withCheckedContinuation { continuation in
      waiters.removeAll(where: \.isDone)
      waiters.append(ReadinessWaiter(continuation, within: within, onTimeout: onTimeout))
    }
    try result.get()
  }

  /// Ends all waits.
  func resume(_ result: Result<Void, RedisError>) {
    let resumed = waiters
    waiters = []
    for waiter in resumed { waiter.resume(result) }
  }
}

/// A task that waits until a connection is ready, for a limited time.
@EventLoop
private final class ReadinessWaiter {
  private var continuation: CheckedContinuation<Result<Void, RedisError>, Never>?
  private var timer: LoopTimer?

  init(
    _ continuation: CheckedContinuation<Result<Void, RedisError>, Never>, within: Duration,
    onTimeout: @escaping @EventLoop () -> RedisError
  ) {
    self.continuation = continuation
    timer = LoopTimer.after(within) { [weak self] in self?.resume(.failure(onTimeout())) }
  }

  var isDone: Bool { continuation == nil }

  func resume(_ result: Result<Void, RedisError>) {
    timer = nil
    continuation.take()?.resume(returning: result)
  }
}
