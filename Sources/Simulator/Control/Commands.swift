import EventLoop

/// `POST /faults`: `{"kind":"goaway","every":100}`. Adds a fault to the active ones.
///
/// It fires at each `every`-th push, at most `count` times, and not at the first `after` pushes; with a `topic` only pushes
/// of that topic count; `on` is `pushes` (default), `broadcasts` or `channels`. With `open` it is one of the connections that are open
/// now: later ones are good.
enum FaultCommand: Equatable {
  case add(Fault, answersPings: Bool, isOfOpen: Bool = false)
  case stallAccept
  case answerEarly
  case ignorePings
  case greet(Goaway)

  private static let refusedStream: Int64 = 7

  init(parsing body: [UInt8]) throws(ControlError) {
    var command = try Command(parsing: body)
    let name = try command.string("kind") ?? ""
    switch name {
    case "acceptStall": self = .stallAccept
    case "early": self = .answerEarly
    case "noPings": self = .ignorePings
    case "goawayFirst": self = .greet(try FaultCommand.goaway(&command))
    default:
      let kind = try FaultCommand.kind(name, &command)
      let fault = Fault(
        kind, every: Int(try command.integer("every", in: 1...1_000_000_000) ?? 1),
        count: try command.integer("count").map(Int.init), after: Int(try command.integer("after") ?? 0),
        topic: try command.string("topic"), on: try command.choice("on", of: RequestTarget.Kind.self) ?? .pushes)
      self = .add(
        fault, answersPings: try command.bool("answerPings") ?? true, isOfOpen: try command.bool("open") ?? false)
    }
    try command.end()
  }

  func apply(to plan: inout FaultPlan) {
    switch self {
    case .add(var fault, let answersPings, let isOfOpen):
      if isOfOpen { fault.lastConnection = plan.newestConnection }
      plan.add(fault)
      if !answersPings { plan.answersPings = false }
    case .stallAccept: plan.stallsAccept = true
    case .answerEarly: plan.answersEarly = true
    case .ignorePings: plan.answersPings = false
    case .greet(let goaway): plan.greeting = goaway
    }
  }

  private static func goaway(_ command: inout Command) throws(ControlError) -> Goaway {
    Goaway(
      isAbrupt: try command.bool("abrupt") ?? false,
      code: UInt32(try command.integer("code", in: 0...Int64(UInt32.max)) ?? 0),
      text: try command.string("text") ?? Goaway.shutdown, isTwice: try command.bool("twice") ?? false)
  }

  /// - `goaway`: `abrupt` closes the connection with it, the last `unanswered` (1) pushes processed but not answered; `code` (0) and
  ///   `text` (`{"reason":"Shutdown"}`) are in it, and with `twice` one without text precedes it;
  /// - `reset`: `code` (7, REFUSED_STREAM), `processed` (false);
  /// - `stall`, `drop`: `processed` (false);
  /// - `status`: `status`, `reason`, `retryAfter`.
  private static func kind(_ name: String, _ command: inout Command) throws(ControlError) -> Fault.Kind {
    switch name {
    case "goaway":
      return .goaway(
        try goaway(&command), unanswered: Int(try command.integer("unanswered", in: 1...1_000_000) ?? 1))
    case "reset":
      let code = try command.integer("code", in: 0...Int64(UInt32.max)) ?? refusedStream
      return .reset(code: UInt32(code), processed: try command.bool("processed") ?? false)
    case "stall": return .stall(processed: try command.bool("processed") ?? false)
    case "drop": return .drop(processed: try command.bool("processed") ?? false)
    case "status": return .answer(try command.answer())
    default:
      throw ControlError(
        "unknown kind \"\(name)\": goaway, goawayFirst, reset, stall, drop, status, acceptStall, early or noPings")
    }
  }
}

/// `POST /settings`: changes the given settings; the stream limit also for open connections. `tokenUpdateSeconds` counts provider
/// tokens from the beginning.
struct SettingsCommand: Equatable {
  let maximumStreams: Int?
  let initialStreams: Int?
  let addedMilliseconds: UInt64?
  let tokenUpdateSeconds: Int64?
  /// Empty allows every topic.
  let topics: [String]?

  init(parsing body: [UInt8]) throws(ControlError) {
    var command = try Command(parsing: body)
    maximumStreams = try command.integer("maxStreams", in: 1...1_000_000).map(Int.init)
    initialStreams = try command.integer("initialStreams", in: 1...1_000_000).map(Int.init)
    addedMilliseconds = try command.integer("rttMs", in: 0...600_000).map(UInt64.init)
    tokenUpdateSeconds = try command.integer("tokenUpdateSeconds", in: 0...86_400)
    topics = try command.strings("topics")
    try command.end()
  }

  @EventLoop
  func apply(to gateway: Gateway) {
    if let initialStreams { gateway.settings.initialStreams = initialStreams }
    if let addedMilliseconds { gateway.settings.addedNanoseconds = addedMilliseconds * 1_000_000 }
    if let tokenUpdateSeconds {
      gateway.settings.tokenUpdateSeconds = tokenUpdateSeconds
      gateway.verifier.forgetUpdates()
    }
    if let topics { gateway.rules.topics = topics.isEmpty ? nil : Set(topics) }
    if let maximumStreams {
      gateway.settings.maximumStreams = maximumStreams
      gateway.announceSettings()
    }
  }
}
