package import EventLoop
import Jobs
package import Redis

/// Asks the delivery policies about jobs. Their state is in Redis, so the limits hold for the whole fleet.
///
/// One exchange per instance and policy runs at a time: it reads the state and Redis' clock, decides about all
/// waiting jobs in order, and replaces the state if it is still the one that was read. Otherwise the exchange starts again.
@EventLoop
package final class PolicyGate {
  package enum Answer {
    /// With what it is based on, unless the job may be sent.
    case decision(PolicyDecision, PolicyGrounds?)
    /// The job expired before the decision.
    case expired
    case fault(RedisError)
  }

  package typealias Completion = @EventLoop (Answer) -> Void

  /// An exchange fails only because another worker's has succeeded, so one of this many succeeds unless the fleet is very busy.
  private static let maximumTries = 32
  private static let conflict = RedisError.notSent(
    "the policy state of the instance could not be replaced: other workers changed it \(maximumTries) times")
  private static let noState = RedisError.notSent("the policy script returned no state and time")

  /// Reads the state of an instance. Returns {the state or null, now in unix ms}.
  private static let read = RedisScript(
    keys: ["state"],
    """
    local time = redis.call('TIME')
    return {redis.call('GET', state), time[1] * 1000 + math.floor(time[2] / 1000)}
    """)

  /// Replaces the state of an instance. The first write takes no memory, so Redis runs the script when it is full.
  ///
  /// `found`, `new`, `ttl`: the state that was read (empty for none), the new one, and its TTL in ms.
  ///
  /// Returns 1, or 0 if the state is not the one that was read.
  private static let replace = RedisScript(
    keys: ["state"], arguments: ["found", "new", "ttl"],
    """
    if (redis.call('GET', state) or '') ~= found then return 0 end
    redis.call('PEXPIRE', state, ttl)
    redis.call('SET', state, new, 'PX', ttl)
    return 1
    """)

  private struct Entry {
    let request: PolicyRequest
    let completion: Completion
  }

  /// The exchange for one instance under one policy.
  private struct Exchange {
    let policy: DeliveryPolicy
    var waiting: [Entry] = []
    var tries = 0
  }

  private let connection: RedisClient
  private let localTime: LocalTime
  /// The running exchanges, by the key of their state.
  private var exchanges: [String: Exchange] = [:]

  package init(connection: RedisClient, localTime: LocalTime) {
    self.connection = connection
    self.localTime = localTime
    connection.preload([PolicyGate.read, PolicyGate.replace])
  }

  /// Asks about a job that could be sent now.
  package func ask(_ match: PolicyMatch, instance: String, _ request: PolicyRequest, _ completion: @escaping Completion)
  {
    let key = PolicyKeys.state(match.policy.name, instance: instance)
    let isUnderWay = exchanges[key] != nil
    let entry = Entry(request: request, completion: completion)
    exchanges[key, default: Exchange(policy: match.policy)].waiting.append(entry)
    if !isUnderWay { read(key) }
  }

  private func read(_ key: String) {
    connection.send(PolicyGate.read(state: key)) { [self] result in
      switch result {
      case .failure(let error): fail(takeWaiting(key), error, key)
      case .success(let value):
        guard let parts = value.array, parts.count == 2, let now = parts[1].integer else {
          return fail(takeWaiting(key), PolicyGate.noState, key)
        }
        decide(key, found: parts[0].bytes ?? [], now: now)
      }
    }
  }

  private func decide(_ key: String, found: [UInt8], now: Int64) {
    guard let policy = exchanges[key]?.policy else { return }
    let entries = takeWaiting(key)
    let before = PolicyState(json: found)
    var state = before
    var answers: [Answer] = []
    for entry in entries {
      if let expiration = entry.request.expiration, expiration <= now {
        answers.append(.expired)
        continue
      }
      let (decision, next) = policy.decide(state, entry.request, now: now, localTime: localTime)
      let grounds = policy.grounds(of: decision, state, entry.request, now: now, localTime: localTime)
      state = next
      answers.append(.decision(decision, grounds))
    }
    guard state != before else { return complete(entries, answers, key) }
    let call = PolicyGate.replace(
      state: key, found: found, new: state.json(), ttl: policy.lifetime(of: state, now: now))
    connection.send(call) { [self] result in
      switch result {
      case .success(.integer(1)): complete(entries, answers, key)
      case .success: tryAgain(entries, key)
      case .failure(let error): fail(entries, error, key)
      }
    }
  }

  private func tryAgain(_ entries: [Entry], _ key: String) {
    exchanges[key]?.tries += 1
    guard let exchange = exchanges[key], exchange.tries < PolicyGate.maximumTries else {
      return fail(entries, PolicyGate.conflict, key)
    }
    exchanges[key]?.waiting.insert(contentsOf: entries, at: 0)
    read(key)
  }

  private func takeWaiting(_ key: String) -> [Entry] {
    defer { exchanges[key]?.waiting = [] }
    return exchanges[key]?.waiting ?? []
  }

  private func fail(_ entries: [Entry], _ error: RedisError, _ key: String) {
    complete(entries, entries.map { _ in .fault(error) }, key)
  }

  /// Starts the next exchange if jobs have arrived meanwhile, then delivers the answers.
  private func complete(_ entries: [Entry], _ answers: [Answer], _ key: String) {
    if exchanges[key]?.waiting.isEmpty == false {
      exchanges[key]?.tries = 0
      read(key)
    } else {
      exchanges[key] = nil
    }
    for (entry, answer) in zip(entries, answers) { entry.completion(answer) }
  }
}
