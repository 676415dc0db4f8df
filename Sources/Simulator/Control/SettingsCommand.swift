import EventLoop
import FoundationEssentials

/// `POST /settings`: what is present is changed, also for connections that are open.
struct SettingsCommand: Codable {
  var maxStreams: Int?
  var initialStreams: Int?
  var rttMs: Int?
  var tokenUpdateSeconds: Int?
  /// Empty: every topic is allowed.
  var topics: [String]?

  init(parsing body: [UInt8]) throws {
    self = try JSONDecoder().decode(SettingsCommand.self, from: Data(body))
  }

  @EventLoop
  func apply(to gateway: Gateway) throws(ControlError) {
    guard (1...1_000_000).contains(maxStreams ?? 1), (1...1_000_000).contains(initialStreams ?? 1),
      (0...600_000).contains(rttMs ?? 0), (0...86_400).contains(tokenUpdateSeconds ?? 0)
    else { throw ControlError("a number is out of range") }
    if let maxStreams { gateway.settings.maximumStreams = maxStreams }
    if let initialStreams { gateway.settings.initialStreams = initialStreams }
    if let rttMs { gateway.settings.addedNanoseconds = UInt64(rttMs) * 1_000_000 }
    if let tokenUpdateSeconds { gateway.settings.tokenUpdateSeconds = Int64(tokenUpdateSeconds) }
    if let topics { gateway.rules.topics = topics.isEmpty ? nil : Set(topics) }
    if maxStreams != nil { gateway.announceSettings() }
  }
}
