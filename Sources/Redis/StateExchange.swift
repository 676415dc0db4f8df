public import EventLoop

/// Decides about requests by a state in Redis that the whole fleet shares.
///
/// One exchange for each key runs at a time: it reads the state and Redis' clock, decides about all waiting requests in order,
/// and replaces the state if it is still the one that was read. Otherwise the exchange starts again.
@EventLoop
public final class StateExchange<Request, Answer> {
  public typealias Completion = @EventLoop (Result<Answer, RedisError>) -> Void

  /// What was decided about some requests.
  public struct Decision {
    /// One for each request, in the same order.
    let answers: [Answer]
    /// The new state; nil keeps the one that was read.
    let state: [UInt8]?
    /// How long the new state is kept, in ms.
    let lifetime: Int64

    public init(answers: [Answer], state: [UInt8]?, lifetime: Int64) {
      self.answers = answers
      self.state = state
      self.lifetime = lifetime
    }
  }

  /// Decides by the state that was read, which is empty if there is none. `now` is Unix ms.
  public typealias Decide = @EventLoop (_ state: [UInt8], _ requests: [Request], _ now: Int64) -> Decision

  /// An exchange fails only because another process's has succeeded, so one of this many succeeds unless the fleet is very busy.
  private static var maximumTries: Int { 32 }

  private struct Exchange {
    var waiting: [(request: Request, completion: Completion)] = []
    var tries = 0
  }

  private let connection: RedisClient
  private let decide: Decide
  /// The running exchanges, by their keys.
  private var exchanges: [String: Exchange] = [:]

  public init(connection: RedisClient, _ decide: @escaping Decide) {
    self.connection = connection
    self.decide = decide
    connection.preload([StateScripts.readScript, StateScripts.replaceScript])
  }

  /// Asks about something that could be done now.
  public func ask(_ key: String, _ request: Request, _ completion: @escaping Completion) {
    let isUnderWay = exchanges[key] != nil
    exchanges[key, default: Exchange()].waiting.append((request, completion))
    if !isUnderWay { read(key) }
  }

  private func read(_ key: String) {
    connection.send(StateScripts.read(state: key)) { [self] result in
      switch result {
      case .failure(let error): fail(takeWaiting(key), error, key)
      case .success(let value):
        guard let parts = value.array, parts.count == 2, let now = parts[1].integer else {
          return fail(takeWaiting(key), .notSent("the script returned no state and time"), key)
        }
        decide(key, found: parts[0].bytes ?? [], now: now)
      }
    }
  }

  private func decide(_ key: String, found: [UInt8], now: Int64) {
    let entries = takeWaiting(key)
    let decision = decide(found, entries.map(\.request), now)
    guard let new = decision.state else { return complete(entries, decision.answers.map { .success($0) }, key) }
    let call = StateScripts.replace(state: key, found: found, new: new, ttl: decision.lifetime)
    connection.send(call) { [self] result in
      switch result {
      case .success(.integer(1)): complete(entries, decision.answers.map { .success($0) }, key)
      case .success: tryAgain(entries, key)
      case .failure(let error): fail(entries, error, key)
      }
    }
  }

  private func tryAgain(_ entries: [(request: Request, completion: Completion)], _ key: String) {
    exchanges[key]?.tries += 1
    guard let exchange = exchanges[key], exchange.tries < StateExchange.maximumTries else {
      let tries = StateExchange.maximumTries
      return fail(entries, .notSent("\(key) could not be replaced: other workers changed it \(tries) times"), key)
    }
    exchanges[key]?.waiting.insert(contentsOf: entries, at: 0)
    read(key)
  }

  private func takeWaiting(_ key: String) -> [(request: Request, completion: Completion)] {
    defer { exchanges[key]?.waiting = [] }
    return exchanges[key]?.waiting ?? []
  }

  private func fail(_ entries: [(request: Request, completion: Completion)], _ error: RedisError, _ key: String) {
    complete(entries, entries.map { _ in .failure(error) }, key)
  }

  /// Starts the next exchange if requests have arrived meanwhile, then passes the answers on.
  private func complete(
    _ entries: [(request: Request, completion: Completion)], _ answers: [Result<Answer, RedisError>], _ key: String
  ) {
    if exchanges[key]?.waiting.isEmpty == false {
      exchanges[key]?.tries = 0
      read(key)
    } else {
      exchanges[key] = nil
    }
    for (entry, answer) in zip(entries, answers) { entry.completion(answer) }
  }
}

/// Strings that several processes change.
public enum StateScripts {
  /// Reads a state. Returns {the state or null, now in unix ms}.
  fileprivate static let readScript = RedisScript(
    keys: ["state"],
    """
    \(RedisScript.clock)
    return {redis.call('GET', state), now}
    """)

  fileprivate static func read(state: String) -> RedisCall {
    readScript.call(keys: state)
  }

  /// Replaces a string. The first write takes no memory, so Redis runs the script when it is full.
  ///
  /// `found`, `new`, `ttl`: the string that was read (empty for none), the new one, and its TTL in ms.
  ///
  /// Returns 1, or 0 if the string is not the one that was read.
  fileprivate static let replaceScript = RedisScript(
    keys: ["state"], arguments: ["found", "new", "ttl"],
    """
    if (redis.call('GET', state) or '') ~= found then return 0 end
    redis.call('PEXPIRE', state, ttl)
    redis.call('SET', state, new, 'PX', ttl)
    return 1
    """)

  public static func replace(state: String, found: [UInt8], new: [UInt8], ttl: Int64) -> RedisCall {
    replaceScript.call(keys: state, arguments: found, new, ttl)
  }
}
