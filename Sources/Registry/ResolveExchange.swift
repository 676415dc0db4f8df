import EventLoop
import Redis

/// Gathers the replies to a batch of queries and hands them over when the last has come.
@EventLoop
final class ResolveExchange {
  /// Tokens to be looked up together, each with the place of its query.
  var named: [(query: Int, token: String)] = []

  /// Queries that ask the same as an earlier one.
  var same: [(query: Int, first: Int)] = []

  private var resolutions: [Resolution]
  private let completion: @EventLoop ([Resolution]) -> Void
  /// Replies that are still to come, and one more while queries are being sent.
  private var open = 1

  init(count: Int, completion: @escaping @EventLoop ([Resolution]) -> Void) {
    resolutions = Array(repeating: Resolution(), count: count)
    self.completion = completion
  }

  func expect() {
    open += 1
  }

  /// No more queries.
  func close() {
    finishOne()
  }

  func answer(
    _ query: Int, _ result: Result<RedisValue, RedisError>, _ apply: (inout Resolution, RedisValue) -> Void
  ) {
    switch result {
    case .success(let value):
      if resolutions[query].error == nil { apply(&resolutions[query], value) }
    case .failure(let error): resolutions[query] = Resolution(error: error)
    }
    finishOne()
  }

  /// The user's devices are to be asked for apart from the others'.
  func setLarge(_ user: String, _ query: Int) {
    resolutions[query].largeUser = user
  }

  /// The reply to an MGET of these tokens.
  func answer(_ named: ArraySlice<(query: Int, token: String)>, _ result: Result<RedisValue, RedisError>) {
    switch result {
    case .success(let value):
      for ((query, token), metadata) in zip(named, value.array ?? []) where resolutions[query].error == nil {
        resolutions[query].devices.append(Ownership.named(token, metadata: metadata.bytes))
      }
    case .failure(let error):
      for (query, _) in named { resolutions[query] = Resolution(error: error) }
    }
    finishOne()
  }

  private func finishOne() {
    open -= 1
    guard open == 0 else { return }
    for (query, first) in same { resolutions[query] = resolutions[first] }
    completion(resolutions)
  }
}

extension Resolution {
  mutating func apply(_ decision: Ownership.Decision) {
    switch decision {
    case .send(let device): devices.append(device)
    case .remove(let removal): removals.append(removal)
    }
  }
}
