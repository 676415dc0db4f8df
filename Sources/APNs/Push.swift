public import EventLoop
public import PushModel

/// One push to one device, from ``APNsClient/send(_:)`` to its outcome.
///
/// A class because it is the user data of its HTTP/2 stream. An instance is sent only once. A subclass holds what its sender
/// needs when the push ends, so that there is one object for each push and no closure.
@EventLoop
open class Push {
  /// What a push carries.
  public struct Message: Sendable {
    /// JSON.
    public let payload: [UInt8]
    public let pushType: PushType
    /// 10, 5 or 1.
    public let priority: Int
    /// Unix seconds. 0: APNs tries only once. Nil: Apple's default, which is different.
    public let expiration: Int64?
    /// At most 64 bytes.
    public let collapseID: String?

    /// `priority` is nil for the default of the push type.
    public init(
      payload: [UInt8], pushType: PushType = .alert, priority: Int? = nil, expiration: Int64? = nil,
      collapseID: String? = nil
    ) {
      self.payload = payload
      self.pushType = pushType
      self.priority = priority ?? pushType.defaultPriority
      self.expiration = expiration
      self.collapseID = collapseID
    }
  }

  /// Hexadecimal device token; of a broadcast the id of the channel.
  public final let token: String
  /// Lower-case UUID; the same on every attempt.
  public final let apnsID: String
  package final let shared: SharedContent
  /// Nil for an anonymous device; the mass-removal guard counts each such device separately.
  final let owner: PushOwner?
  /// The refusals that say something about the token; only these count for the mass-removal guard.
  final var evidence: TokenEvidence
  /// Called by ``ended(_:)``, and released before: it may refer to the push.
  public final var completion: (@EventLoop (SendOutcome) -> Void)?

  /// On CLOCK_MONOTONIC, nanoseconds; set by `send`.
  final var sentAt: UInt64 = 0
  final var deadline: UInt64 = 0
  final var isFinished = false
  final var route: Route?
  /// How often it was sent again because APNs had certainly not processed it.
  final var resends = 0
  /// How often it was sent again because its provider token was refused.
  final var tokenResends = 0
  /// The generation of the provider token that the last attempt carried.
  final var tokenGeneration = 0
  /// The key that signed it, among those of its client.
  final var keyIndex = 0
  /// When the last attempt was given to a connection; on CLOCK_MONOTONIC, nanoseconds.
  final var submittedAt: UInt64 = 0
  /// Whether this push probes a paused route.
  final var isProbe = false
  /// Used on the loop only, which nghttp2's callbacks cannot express.
  nonisolated(unsafe) final var stream = PushStream()

  // Links of the ``PushList`` that contains it.
  final var next: Push?
  unowned(unsafe) final var previous: Push?

  public init(
    token: String, apnsID: String, shared: SharedContent, owner: PushOwner? = nil, evidence: TokenEvidence,
    completion: (@EventLoop (SendOutcome) -> Void)? = nil
  ) {
    self.token = token
    self.apnsID = apnsID
    self.shared = shared
    self.owner = owner
    self.evidence = evidence
    self.completion = completion
  }

  /// Called exactly once, on the loop, in a later turn than `send`.
  open func ended(_ outcome: SendOutcome) { completion.take()?(outcome) }
}

/// The owner of a push's device, by which the mass-removal guard counts.
public enum PushOwner: Sendable, Hashable {
  case user(Username)
  case instance(String)
  /// Nobody: a token that is not registered, which anybody may have invented.
  case unregistered
}

/// Whether a refusal says something about a token, or only that the push was sent to the wrong place. Whoever sends a push
/// states it: there is no default.
public struct TokenEvidence: Sendable, Equatable {
  /// `BadDeviceToken`: false if the other environment is asked, too.
  public let ofEnvironment: Bool
  /// `DeviceTokenNotForTopic`: false if the topic is not the one that the device was registered with.
  public let ofTopic: Bool

  public init(ofEnvironment: Bool, ofTopic: Bool) {
    self.ofEnvironment = ofEnvironment
    self.ofTopic = ofTopic
  }

  /// Of a push that is about no device's token.
  public static let none = TokenEvidence(ofEnvironment: false, ofTopic: false)

  func counts(_ reason: String?) -> Bool { reason == "BadDeviceToken" ? ofEnvironment : ofTopic }
}

extension Push {
  private nonisolated static let maximumCollapseIDBytes = 64
  private nonisolated static let maximumTopicBytes = 256

  /// Why an invalid push is not sent, mostly by the reason that APNs has for it; nil if the push is valid.
  ///
  /// Such a push is not sent: a control character in a header would end the connection and all pushes on it.
  nonisolated var localRefusal: APNsAnswer? {
    let (topic, message) = (shared.topic, shared.message)
    if shared.isBroadcast {
      if token.utf8.isEmpty { return .init(unsent: "MissingChannelId") }
      if !ChannelID.isWellFormed(token) { return .init(unsent: "BadChannelId") }
    } else {
      if token.utf8.isEmpty { return .init(unsent: "MissingDeviceToken") }
      if !DeviceToken.isOfAPNs(token) { return .init(unsent: PushReason.notAnAPNsToken) }
    }
    if topic.utf8.isEmpty { return .init(unsent: "MissingTopic") }
    if topic.utf8.count > Push.maximumTopicBytes || !Push.isHeaderValue(topic) {
      return .init(unsent: "BadTopic")
    }
    if !isAPNsIDValid { return .init(unsent: "BadMessageId") }
    if ![10, 5, 1].contains(message.priority) { return .init(unsent: "BadPriority") }
    if let expiration = message.expiration, expiration < 0 { return .init(unsent: "BadExpirationDate") }
    if let id = message.collapseID, id.utf8.count > Push.maximumCollapseIDBytes || !Push.isHeaderValue(id) {
      return .init(unsent: "BadCollapseId")
    }
    if message.payload.isEmpty { return .init(unsent: "PayloadEmpty") }
    let maximum = shared.isBroadcast ? PushType.maximumBroadcastBytes : message.pushType.maximumPayloadBytes
    if message.payload.count > maximum { return .init(unsent: "PayloadTooLarge") }
    return nil
  }

  /// Whether the id is a UUID: 32 hexadecimal digits and four dashes.
  private nonisolated var isAPNsIDValid: Bool {
    apnsID.utf8.span.withUnsafeBufferPointer { text in
      guard text.count == 36 else { return false }
      var digits: UInt8 = 0
      var index = 0
      while index < text.count {
        digits &+= Push.isHex(text[index]) ? 1 : 0
        index &+= 1
      }
      return digits == 32 && text[8] == Push.dash && text[13] == Push.dash && text[18] == Push.dash
        && text[23] == Push.dash
    }
  }

  private nonisolated static let dash = UInt8(ascii: "-")

  private nonisolated static func isHeaderValue(_ text: String) -> Bool {
    all(text) { $0 >= 0x20 && $0 != 0x7F } && text.utf8.first != 0x20 && text.utf8.last != 0x20
  }

  @inline(__always)
  private nonisolated static func isHex(_ byte: UInt8) -> Bool {
    (byte &- 0x30) < 10 || ((byte | 0x20) &- 0x61) < 6
  }

  /// Whether all bytes satisfy `isFine`. The loop has no early exit, so that the compiler can vectorize it.
  @inline(__always)
  private nonisolated static func all(_ text: String, _ isFine: (UInt8) -> Bool) -> Bool {
    text.utf8.span.withUnsafeBufferPointer { bytes in
      var unfit: UInt8 = 0
      var index = 0
      while index < bytes.count {
        unfit |= isFine(bytes[index]) ? 0 : 1
        index &+= 1
      }
      return unfit == 0
    }
  }
}
