import EventLoop
import Redis

/// Adds up the integer replies of several commands. If one fails, the sum is a failure.
@EventLoop
final class CountExchange {
  private var sum = 0
  private var error: RedisError?
  /// Number of expected replies, plus one until ``close()``.
  private var open = 1
  private let completion: Registry.CountCompletion

  init(completion: @escaping Registry.CountCompletion) {
    self.completion = completion
  }

  func expect() {
    open += 1
  }

  func close() {
    finishOne()
  }

  func answer(_ result: Result<RedisValue, RedisError>) {
    switch result {
    case .success(let value): sum += value.count ?? 0
    case .failure(let error): self.error = error
    }
    finishOne()
  }

  private func finishOne() {
    open -= 1
    guard open == 0 else { return }
    completion(error.map(Result.failure) ?? .success(sum))
  }
}
