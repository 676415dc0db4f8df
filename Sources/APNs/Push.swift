public import PushModel
public import EventLoop

/// One push to one device, from ``APNsClient/send(_:)`` to its outcome.
///
/// A class because it is the user data of its HTTP/2 stream. An instance is sent only once.
@EventLoop
public final class Push {
  /// Where a push goes.
  public struct Target: Sendable {
    /// Hexadecimal device token; of a broadcast the id of the channel.
    public let token: String
    /// Usually ``PushType/topic(bundleID:)``.
    public let topic: String
    /// The environment that the token, or the channel, belongs to.
    public let environment: PushEnvironment
    /// Nil for an anonymous device.
    public let owner: PushOwner?
    /// The refusals that say something about the token; only these count for the mass-removal guard.
    public let evidence: TokenEvidence
    /// Whether the push goes to the devices that have subscribed to a channel.
    public let isBroadcast: Bool

    /// A channel of an app. APNs gets no topic: the one here names the route, which is not that of the app's devices.
    public init(channel id: String, bundleID: String, environment: PushEnvironment) {
      token = id
      topic = bundleID + Push.channelsSuffix
      self.environment = environment
      owner = nil
      evidence = TokenEvidence()
      isBroadcast = true
    }

    public init(
      token: String, topic: String, environment: PushEnvironment, owner: PushOwner? = nil,
      evidence: TokenEvidence = TokenEvidence()
    ) {
      self.token = token
      self.topic = topic
      self.environment = environment
      self.owner = owner
      self.evidence = evidence
      isBroadcast = false
    }
  }

  /// No bundle id ends with it.
  private nonisolated static let channelsSuffix = "/channels"

  /// What a push carries.
  public struct Message: Sendable {
    /// JSON.
    public let payload: [UInt8]
    public let pushType: PushType
    /// 10, 5 or 1; nil for the default of the push type.
    public let priority: Int?
    /// Unix seconds. 0: APNs tries only once. Nil: Apple's default, which is different.
    public let expiration: Int64?
    /// At most 64 bytes.
    public let collapseID: String?

    public init(
      payload: [UInt8], pushType: PushType = .alert, priority: Int? = nil, expiration: Int64? = nil,
      collapseID: String? = nil
    ) {
      self.payload = payload
      self.pushType = pushType
      self.priority = priority
      self.expiration = expiration
      self.collapseID = collapseID
    }
  }

  /// Hexadecimal device token; of a broadcast the id of the channel.
  public let token: String
  public let topic: String
  /// See ``Target/isBroadcast``.
  public let isBroadcast: Bool
  public let pushType: PushType
  /// 10, 5 or 1.
  public let priority: Int
  /// Unix seconds; see ``Message/expiration``.
  public let expiration: Int64?
  public let collapseID: String?
  /// Lower-case UUID; the same on every attempt.
  public let apnsID: String
  /// JSON; shared by copy-on-write between the pushes of one job.
  public let payload: [UInt8]
  public let environment: PushEnvironment
  /// Nil for an anonymous device; the mass-removal guard counts each such device separately.
  public let owner: PushOwner?
  let evidence: TokenEvidence

  /// The bundle id that the topic was made from.
  nonisolated var bundleID: String {
    isBroadcast ? String(topic.dropLast(Push.channelsSuffix.count)) : pushType.bundleID(ofTopic: topic)
  }

  let completion: @EventLoop (SendOutcome) -> Void

  /// On CLOCK_MONOTONIC, nanoseconds; set by `send`.
  var sentAt: UInt64 = 0
  var deadline: UInt64 = 0
  var isFinished = false
  var route: Route?
  /// How often it was sent again because APNs had certainly not processed it.
  var resends = 0
  /// How often it was sent again because its provider token was refused.
  var tokenResends = 0
  /// The generation of the provider token that the last attempt carried.
  var tokenGeneration = 0
  /// The key that signed it, among those of its client.
  var keyIndex = 0
  /// When the last attempt was given to a connection; on CLOCK_MONOTONIC, nanoseconds.
  var submittedAt: UInt64 = 0
  /// Whether this push probes a paused route.
  var isProbe = false
  /// Used on the loop only, which nghttp2's callbacks cannot express.
  nonisolated(unsafe) var stream = PushStream()

  // Links of the ``PushList`` that contains it.
  var next: Push?
  unowned(unsafe) var previous: Push?

  /// - Parameters:
  ///   - apnsID: lower-case UUID.
  ///   - completion: called exactly once, on the loop, in a later turn than `send`.
  public init(
    to target: Target, message: Message, apnsID: String, completion: @escaping @EventLoop (SendOutcome) -> Void
  ) {
    token = target.token
    topic = target.topic
    isBroadcast = target.isBroadcast
    environment = target.environment
    owner = target.owner
    evidence = target.evidence
    payload = message.payload
    pushType = message.pushType
    priority = message.priority ?? message.pushType.defaultPriority
    // A broadcast must say one.
    expiration = message.expiration ?? (target.isBroadcast ? 0 : nil)
    collapseID = message.collapseID
    self.apnsID = apnsID
    self.completion = completion
  }
}

/// The owner of a push's device, by which the mass-removal guard counts.
public struct PushOwner: Sendable, Equatable {
  let hash: Int

  public static func user(_ name: String) -> PushOwner { PushOwner(hash: name.hashValue) }

  public static func instance(_ id: String) -> PushOwner {
    var hasher = Hasher()
    hasher.combine("instance")
    hasher.combine(id)
    return PushOwner(hash: hasher.finalize())
  }
}

/// Whether a refusal says something about a token, or only that the push was sent to the wrong place.
public struct TokenEvidence: Sendable, Equatable {
  /// `BadDeviceToken`: false if the other environment is asked, too.
  public let ofEnvironment: Bool
  /// `DeviceTokenNotForTopic`: false if the topic is not the one that the device was registered with.
  public let ofTopic: Bool

  public init(ofEnvironment: Bool = true, ofTopic: Bool = true) {
    self.ofEnvironment = ofEnvironment
    self.ofTopic = ofTopic
  }

  func counts(_ reason: String?) -> Bool { reason == "BadDeviceToken" ? ofEnvironment : ofTopic }
}
