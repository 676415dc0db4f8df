import Crypto
import JSON

/// The broadcast channels of all apps in one environment.
struct Channels {
  struct Channel: Equatable {
    /// Whether APNs keeps the newest message for devices that are offline: `message-storage-policy` 1.
    let keepsNewest: Bool
    /// Accepted ones.
    var broadcasts = 0
  }

  /// Of one app.
  static let maximum = 10_000
  /// Bytes of a channel id in base64; a longer one is malformed.
  static let maximumID = 64

  /// By bundle id, then by channel id.
  private(set) var apps: [String: [String: Channel]] = [:]
  private let limit: Int

  init(limit: Int = Channels.maximum) {
    self.limit = limit
  }

  /// Returns the answer to a request to create a channel. Source: Apple's "Sending channel management requests to APNs".
  mutating func create(_ body: [UInt8], for bundleID: String) -> Answer {
    if body.isEmpty { return Answer(400, "PayloadEmpty") }
    guard let value = try? JSONValue(parsing: body), value.members != nil else {
      return Answer(400, "BadRequestPayload")
    }
    guard let type = value["push-type"] else { return Answer(400, "MissingPushType") }
    guard type.string == "LiveActivity" else { return Answer(400, "InvalidPushType") }
    guard let policy = value["message-storage-policy"]?.integer(in: 0...1) else {
      return Answer(400, "BadRequestPayload")
    }
    guard apps[bundleID, default: [:]].count < limit else { return Answer(400, "CannotCreateChannelConfig") }
    let id = Base64.encode((0..<16).map { _ in UInt8.random(in: 0...255) })
    apps[bundleID, default: [:]][id] = Channel(keepsNewest: policy == 1)
    return Answer(201, channelID: id)
  }

  /// Returns the answer to a request to read a channel.
  func read(_ id: ArraySlice<UInt8>?, of bundleID: String) -> Answer {
    switch find(id, of: bundleID) {
    case .failure(let refusal): return refusal.answer
    case .success(let (id, channel)):
      let body: JSONObject = ["message-storage-policy": channel.keepsNewest ? 1 : 0, "push-type": "LiveActivity"]
      return Answer(200, channelID: id, content: body.bytes)
    }
  }

  /// Returns the answer to a request to list the channels of an app.
  func list(of bundleID: String) -> Answer {
    let body: JSONObject = ["channels": apps[bundleID, default: [:]].keys.sorted()]
    return Answer(200, channelID: nil, content: body.bytes)
  }

  /// Returns the answer to a request to delete a channel.
  mutating func delete(_ id: ArraySlice<UInt8>?, of bundleID: String) -> Answer {
    switch find(id, of: bundleID) {
    case .failure(let refusal): return refusal.answer
    case .success(let (id, _)):
      apps[bundleID]?[id] = nil
      return Answer(204, channelID: id)
    }
  }

  mutating func countBroadcast(on id: String, of bundleID: String) {
    apps[bundleID]?[id]?.broadcasts += 1
  }

  /// Finds the channel that a request names.
  func find(
    _ id: ArraySlice<UInt8>?, of bundleID: String
  ) -> Result<(id: String, channel: Channel), Refusal> {
    guard let id, !id.isEmpty else { return .failure(Refusal("MissingChannelId")) }
    guard id.count <= Channels.maximumID, id.count.isMultiple(of: 4), Base64.decode(id) != nil else {
      return .failure(Refusal("BadChannelId"))
    }
    let text = String(decoding: id, as: UTF8.self)
    guard let channel = apps[bundleID]?[text] else { return .failure(Refusal("ChannelNotRegistered")) }
    return .success((text, channel))
  }

  /// A refusal with status 400.
  struct Refusal: Error, Equatable {
    let answer: Answer

    init(_ reason: String) { answer = Answer(400, reason) }
  }
}
