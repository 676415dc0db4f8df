import EventLoop
import Jobs
import Operations
import Redis

/// Asks the delivery policies about jobs. Their state is in Redis, so the limits hold for the whole fleet.
@EventLoop
final class PolicyGate {
  enum Answer {
    /// With what it is based on, unless the job may be sent.
    case decision(PolicyDecision, PolicyGrounds?)
    /// The job expired before the decision.
    case expired
    case fault(RedisError)
  }

  typealias Completion = @EventLoop (Answer) -> Void

  /// Requests with one key have the same policy.
  private let exchange: StateExchange<(policy: DeliveryPolicy, request: PolicyRequest), Answer>

  init(connection: RedisClient, localTime: LocalTime) {
    exchange = StateExchange(connection: connection) { found, requests, now in
      let before = PolicyState(json: found)
      var state = before
      let answers = requests.map { policy, request -> Answer in
        if let expiration = request.expiration, expiration <= now { return .expired }
        let (decision, next) = policy.decide(state, request, now: now, localTime: localTime)
        let grounds = policy.grounds(of: decision, state, request, now: now, localTime: localTime)
        state = next
        return .decision(decision, grounds)
      }
      guard state != before, let policy = requests.first?.policy else {
        return .init(answers: answers, state: nil, lifetime: 0)
      }
      return .init(answers: answers, state: state.json(), lifetime: policy.lifetime(of: state, now: now))
    }
  }

  /// Asks about a job that could be sent now.
  func ask(
    _ match: PolicyMatch, instance: String, _ request: PolicyRequest, _ completion: @escaping Completion
  ) {
    let key = PolicyKeys.state(match.policy.name, instance: instance)
    exchange.ask(key, (match.policy, request)) { result in
      switch result {
      case .success(let answer): completion(answer)
      case .failure(let error): completion(.fault(error))
      }
    }
  }
}
