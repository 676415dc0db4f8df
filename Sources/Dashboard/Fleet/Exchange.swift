import EventLoop
import Redis

/// Sends several commands in one exchange.
@EventLoop
enum Exchange {
  /// Returns the replies in the order of the commands. A key of another type counts as absent.
  static func replies(
    to commands: [RedisCommand], on connection: RedisClient
  ) async throws(RedisError) -> [RedisValue] {
    guard !commands.isEmpty else { return [] }
    let result: Result<[RedisValue], RedisError> = await withCheckedContinuation { continuation in
      let gathering = Gathering(count: commands.count) { continuation.resume(returning: $0) }
      for (index, command) in commands.enumerated() {
        connection.send(command) { gathering.add($0, at: index) }
      }
    }
    return try result.get()
  }

  /// The replies that have come.
  @EventLoop
  private final class Gathering {
    private var values: [RedisValue]
    private var left: Int
    private var fault: RedisError?
    private let completion: (Result<[RedisValue], RedisError>) -> Void

    init(count: Int, completion: @escaping (Result<[RedisValue], RedisError>) -> Void) {
      values = Array(repeating: .null, count: count)
      left = count
      self.completion = completion
    }

    func add(_ result: Result<RedisValue, RedisError>, at index: Int) {
      switch result {
      case .success(let value): values[index] = value
      case .failure(.reply(let error)) where error.code == "WRONGTYPE": break
      case .failure(let error): fault = fault ?? error
      }
      left -= 1
      if left == 0 { completion(fault.map { .failure($0) } ?? .success(values)) }
    }
  }
}
