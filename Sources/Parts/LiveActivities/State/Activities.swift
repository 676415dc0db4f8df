import EventLoop
import Redis

/// The states of Live Activities, which the whole fleet shares.
@EventLoop
final class Activities {
  private let connection: RedisClient
  private let exchange: StateExchange<ActivityRequest, ActivityAnswer>

  init(connection: RedisClient) {
    self.connection = connection
    exchange = StateExchange(connection: connection) { found, requests, now in
      let before = ActivityState(json: found)
      var state = before
      let answers = requests.map { state.decide($0, now: now) }
      return .init(answers: answers, state: state == before ? nil : state.json(), lifetime: ActivityState.lifetime)
    }
  }

  /// Asks about the activity, or says something about it.
  func ask(
    _ id: String, _ request: ActivityRequest,
    _ completion: @escaping @EventLoop (Result<ActivityAnswer, RedisError>) -> Void
  ) {
    exchange.ask(Activities.key(id), request, completion)
  }

  /// Returns the state of the activity; nil if nothing is known of it.
  func state(_ id: String) async throws(RedisError) -> ActivityState? {
    let value = try await connection.send(RedisCommand("GET", Activities.key(id)))
    return value.bytes.map { ActivityState(json: $0) }
  }

  /// Counts a start on each device. Passes whether one of them gets more in an hour than it may show; false if Redis does not answer.
  func countStarts(on devices: [String], _ completion: @escaping @EventLoop (_ isTooMany: Bool) -> Void) {
    EventLoop.gather(devices) { device, end in
      connection.send(Activities.count(starts: Activities.startsKey(device)), end)
    } completion: { counts in
      completion(counts.contains { (try? $0.get().integer).map { $0 > Activities.startsPerHour } ?? false })
    }
  }

  /// Starts of one device in an hour that APNs and the device are known to take.
  private static let startsPerHour: Int64 = 8
  /// Returns the number of starts in the hour that began with the first one.
  private static let countScript = RedisScript(
    keys: ["starts"],
    """
    local count = redis.call('INCR', starts)
    if count == 1 then redis.call('EXPIRE', starts, 3600) end
    return count
    """)

  private static func count(starts: String) -> RedisCall {
    countScript.call(keys: starts)
  }

  /// | `push:activity:<id>` | string, 12 h from the last change | JSON: the newest state of a Live Activity for all devices
  /// (`all`) and for users with states of their own (`users`, up to 100), each with `job`, `nonce`, `queue`, `isEnd`,
  /// `shared`, `order`, `timestamp`, `payload`, `priority`, `expiresAt`, `phase` (`open`, `waiting`, `settled`), `since`
  /// and `reached` (beginnings of tokens); `firstStart`, with the `channel` that updates the activity if there is one;
  /// `startedAt`; `starts`: the devices on which it was started, up to 1,000; `members`: the users for whom a start was
  /// sent; `updates`: the unix seconds of those in the last minute |
  static func key(_ id: String) -> String { "push:activity:\(id)" }

  /// | `martlet:starts:<device>` | string | 1 h | how many Live Activities were started on a device, by its `deviceId`, a
  /// line feed and its user, or a digest of its token |
  private static func startsKey(_ device: String) -> String { "martlet:starts:\(device)" }
}
