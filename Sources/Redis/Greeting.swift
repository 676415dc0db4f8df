/// What is said on every new connection before it is used, all in one write; decides from the answers.
struct Greeting {
  enum Step: Equatable { case authenticate, name, select, load, role, ping }

  enum Decision: Equatable {
    case more
    case ready
    case refused(String)
  }

  let steps: [(step: Step, command: RedisCommand)]
  private var answered = 0

  init(to endpoint: RedisEndpoint, name: String, scripts: [RedisScript]) {
    var steps: [(Step, RedisCommand)] = []
    if let password = endpoint.password {
      var command = RedisCommand("AUTH")
      if let user = endpoint.user { command.append(user) }
      steps.append((.authenticate, command.with(password)))
    }
    steps.append((.name, RedisCommand("CLIENT", "SETNAME", name)))
    if case .sentinel = endpoint.address { steps.append((.role, RedisCommand("ROLE"))) }
    if endpoint.database != 0 { steps.append((.select, RedisCommand("SELECT").with(endpoint.database))) }
    for script in scripts { steps.append((.load, RedisCommand("SCRIPT", "LOAD", script.source))) }
    steps.append((.ping, RedisCommand("PING")))
    self.steps = steps
  }

  /// Takes the answers in the order of ``steps``.
  mutating func receive(_ answer: Result<RedisValue, RedisError>) -> Decision {
    let step = steps[answered].step
    answered += 1
    switch answer {
    case .success(let value):
      if step == .role, value.array?.first?.string != "master" {
        return .refused("sentinel named a server that is not the master (yet)")
      }
    case .failure(.reply(let error)):
      let isCourtesy = step == .name || step == .load || step == .ping
      if !isCourtesy || !error.isHarmlessInGreeting { return .refused(Greeting.explain(step, error)) }
    case .failure(let error):
      return .refused(error.description)
    }
    return answered == steps.count ? .ready : .more
  }

  private static func explain(_ step: Step, _ error: RedisReplyError) -> String {
    switch (step, error.code) {
    case (.authenticate, "WRONGPASS"), (.authenticate, "NOPERM"):
      "redis refused the user or password of REDIS_URL: \(error.message)"
    // Of commands that it does not know Redis quotes the arguments: the password.
    case (.authenticate, _): "redis refused AUTH with the user or password of REDIS_URL (\(error.code))"
    case (_, "NOAUTH"): "redis wants a password, REDIS_URL has none: \(error.message)"
    case (.select, _): "redis refused the database of REDIS_URL: \(error.message)"
    case (_, "LOADING"), (_, "MASTERDOWN"): "redis is not ready: \(error.message)"
    default: "redis refused the connection: \(error.message)"
    }
  }
}
