import EventLoop

/// `POST /settings`: what is present is changed; the stream limit also for connections that are open.
struct SettingsCommand: Equatable {
  let maximumStreams: Int?
  let initialStreams: Int?
  let addedMilliseconds: UInt64?
  let tokenUpdateSeconds: Int64?
  /// Empty: every topic is allowed.
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
    if let tokenUpdateSeconds { gateway.settings.tokenUpdateSeconds = tokenUpdateSeconds }
    if let topics { gateway.rules.topics = topics.isEmpty ? nil : Set(topics) }
    if let maximumStreams {
      gateway.settings.maximumStreams = maximumStreams
      gateway.announceSettings()
    }
  }
}
