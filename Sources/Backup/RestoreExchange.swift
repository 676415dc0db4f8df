import EventLoop
import Redis

/// Gathers the replies to several scripts; one failure makes the whole a failure.
@EventLoop
final class RestoreExchange {
  private var replies: [RedisValue]
  private var error: RedisError?
  private var open: Int
  private let completion: @EventLoop (Result<[RedisValue], RedisError>) -> Void

  init(count: Int, completion: @escaping @EventLoop (Result<[RedisValue], RedisError>) -> Void) {
    replies = Array(repeating: .null, count: count)
    open = count
    self.completion = completion
  }

  func answer(_ number: Int, _ result: Result<RedisValue, RedisError>) {
    switch result {
    case .success(let value): replies[number] = value
    case .failure(let error): self.error = self.error ?? error
    }
    open -= 1
    if open == 0 { completion(error.map(Result.failure) ?? .success(replies)) }
  }
}
