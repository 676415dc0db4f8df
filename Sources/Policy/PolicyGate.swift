package import EventLoop
import Jobs
package import Redis

/// Asks the delivery policies, which remember every instance in Redis: the whole fleet keeps its limits together.
///
/// The state of an instance is read with Redis' time, the jobs that wait for it are decided one after the other, and what
/// came of it is written only if the state still is the one that was read; otherwise all begins again.
@EventLoop
package final class PolicyGate {
  package enum Answer {
    case decision(PolicyDecision)
    case expired
    case fault(RedisError)
  }

  package typealias Completion = @EventLoop (Answer) -> Void

  /// Each of them fails only because another worker's has succeeded.
  private static let maximumTries = 32
  private static let conflict = RedisError.notSent(
    "other workers change the policy's state of the instance all the time")

  private static let noState = RedisError.notSent("Redis answered no state of a policy and no time")

  private struct Entry {
    let request: PolicyRequest
    let completion: Completion
  }

  /// Of one instance under one policy.
  private struct Line {
    let policy: DeliveryPolicy
    var waiting: [Entry] = []
    var tries = 0
  }

  private let connection: RedisConnection
  private let localTime: LocalTime
  /// By key; there while an exchange is under way.
  private var lines: [String: Line] = [:]

  package init(connection: RedisConnection, localTime: LocalTime) {
    self.connection = connection
    self.localTime = localTime
    connection.preload(PolicyScripts.all)
  }

  /// For a job that could be sent at once.
  package func ask(_ match: PolicyMatch, instance: String, _ request: PolicyRequest, _ completion: @escaping Completion)
  {
    let key = PolicyKeys.state(match.policy.name, instance: instance)
    let isUnderWay = lines[key] != nil
    lines[key, default: Line(policy: match.policy)].waiting.append(Entry(request: request, completion: completion))
    if !isUnderWay { read(key) }
  }

  private func read(_ key: String) {
    connection.run(PolicyScripts.read, keys: [key]) { [self] result in
      switch result {
      case .failure(let error): answer(take(key), .fault(error), key)
      case .success(let value):
        guard let parts = value.array, parts.count == 2, let now = parts[1].integer else {
          return answer(take(key), .fault(PolicyGate.noState), key)
        }
        decide(key, found: parts[0].bytes ?? [], now: now)
      }
    }
  }

  private func decide(_ key: String, found: [UInt8], now: Int64) {
    guard let line = lines[key] else { return }
    let entries = take(key)
    let before = PolicyState(json: found)
    var state = before
    var answers: [Answer] = []
    for entry in entries {
      if let expiration = entry.request.expiration, expiration <= now {
        answers.append(.expired)
        continue
      }
      let decision = line.policy.decide(state, entry.request, now: now, localTime: localTime)
      state = decision.state
      answers.append(.decision(decision.decision))
    }
    guard state != before else { return conclude(entries, answers, key) }
    connection.call(PolicyScripts.replace, keys: [key]) { command in
      command.append(found)
      command.append(state.json())
      command.append(line.policy.lifetime(of: state, now: now))
    } _: { [self] result in
      switch result {
      case .success(.integer(1)): conclude(entries, answers, key)
      case .success: tryAgain(entries, key)
      case .failure(let error): answer(entries, .fault(error), key)
      }
    }
  }

  private func tryAgain(_ entries: [Entry], _ key: String) {
    lines[key]?.tries += 1
    guard let line = lines[key], line.tries < PolicyGate.maximumTries else {
      return answer(entries, .fault(PolicyGate.conflict), key)
    }
    lines[key]?.waiting.insert(contentsOf: entries, at: 0)
    read(key)
  }

  private func take(_ key: String) -> [Entry] {
    defer { lines[key]?.waiting = [] }
    return lines[key]?.waiting ?? []
  }

  private func answer(_ entries: [Entry], _ answer: Answer, _ key: String) {
    conclude(entries, entries.map { _ in answer }, key)
  }

  /// Those that have come meanwhile are next.
  private func conclude(_ entries: [Entry], _ answers: [Answer], _ key: String) {
    if lines[key]?.waiting.isEmpty == false {
      lines[key]?.tries = 0
      read(key)
    } else {
      lines[key] = nil
    }
    for (entry, answer) in zip(entries, answers) { entry.completion(answer) }
  }
}
