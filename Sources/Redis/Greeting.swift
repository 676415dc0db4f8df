/// The commands that are sent, in one write, on every new connection before it is used, and their evaluation.
struct Greeting {
  enum Step: Equatable { case authenticate, name, select, load, role, ping }

  enum Progress: Equatable {
    /// More replies are expected.
    case more
    case ready
    /// The connection cannot be used. Carries the reason, and whether Redis did not accept the user or the password.
    case refused(String, isOfPassword: Bool = false)
  }

  let steps: [(step: Step, command: RedisCommand)]
  private var replies = 0

  init(to endpoint: RedisEndpoint, name: String, scripts: [RedisScript]) {
    var steps: [(Step, RedisCommand)] = []
    if let authentication = Greeting.authentication(endpoint) { steps.append((.authenticate, authentication)) }
    steps.append((.name, RedisCommand("CLIENT", "SETNAME", name)))
    if case .sentinel = endpoint.address { steps.append((.role, RedisCommand("ROLE"))) }
    if endpoint.database != 0 { steps.append((.select, RedisCommand("SELECT").with(endpoint.database))) }
    for script in scripts { steps.append((.load, RedisCommand("SCRIPT", "LOAD", script.source))) }
    steps.append((.ping, RedisCommand("PING")))
    self.steps = steps
  }

  /// Nil if the endpoint has no password.
  static func authentication(_ endpoint: RedisEndpoint) -> RedisCommand? {
    guard let password = endpoint.password else { return nil }
    var command = RedisCommand("AUTH")
    if let user = endpoint.user { command.append(user) }
    return command.with(password)
  }

  /// Evaluates the replies, which come in the order of ``steps``.
  mutating func receive(_ reply: Result<RedisValue, RedisError>) -> Progress {
    let step = steps[replies].step
    replies += 1
    switch reply {
    case .success(let value):
      if step == .role, value.array?.first?.string != "master" {
        return .refused("sentinel returned a server that is not (yet) the master")
      }
    case .failure(.reply(let error)):
      let isOptional = step == .name || step == .load || step == .ping
      if !isOptional || !error.isHarmlessInGreeting {
        let isOfPassword = step == .authenticate || error.code == "NOAUTH"
        return .refused(Greeting.explain(step, error), isOfPassword: isOfPassword)
      }
    case .failure(let error):
      return .refused(error.description)
    }
    return replies == steps.count ? .ready : .more
  }

  static func explain(_ step: Step, _ error: RedisReplyError) -> String {
    switch (step, error.code) {
    case (.authenticate, "WRONGPASS"), (.authenticate, "NOPERM"):
      "redis refused the user or password of REDIS_URL: \(error.message)"
    // The message is left out: for an unknown command Redis quotes the arguments, here the password.
    case (.authenticate, _): "redis refused AUTH with the user or password of REDIS_URL (\(error.code))"
    case (_, "NOAUTH"): "redis requires a password, but REDIS_URL has none: \(error.message)"
    case (.select, _): "redis refused the database of REDIS_URL: \(error.message)"
    case (_, "LOADING"), (_, "MASTERDOWN"): "redis is not ready: \(error.message)"
    default: "redis refused the connection: \(error.message)"
    }
  }
}
