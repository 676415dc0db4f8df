public import EventLoop
public import Redis

/// The states of Live Activities, which the whole fleet shares.
@EventLoop
public final class Activities {
  private let connection: RedisClient
  private let exchange: StateExchange<ActivityRequest, ActivityAnswer>

  public init(connection: RedisClient) {
    self.connection = connection
    exchange = StateExchange(connection: connection) { found, requests, now in
      let before = ActivityState(json: found)
      var state = before
      let answers = requests.map { state.decide($0, now: now) }
      return .init(answers: answers, state: state == before ? nil : state.json(), lifetime: ActivityState.lifetime)
    }
  }

  /// Asks about the activity, or says something about it.
  public func ask(
    _ id: String, _ request: ActivityRequest,
    _ completion: @escaping @EventLoop (Result<ActivityAnswer, RedisError>) -> Void
  ) {
    exchange.ask(Activities.key(id), request, completion)
  }

  /// Returns the state of the activity; nil if nothing is known of it.
  public func state(_ id: String) async throws(RedisError) -> ActivityState? {
    let value = try await connection.send(RedisCommand("GET", Activities.key(id)))
    return value.bytes.map { ActivityState(json: $0) }
  }

  /// The key of the state.
  public static func key(_ id: String) -> String { "push:activity:\(id)" }
}
