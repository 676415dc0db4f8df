public import PushModel
public import EventLoop

/// One push to one device, from ``APNsClient/send(_:)`` to its outcome.
///
/// An object because it is the user data of its HTTP/2 stream. Send it once.
@EventLoop
public final class Push {
  /// Hexadecimal device token.
  public let token: String
  /// Usually ``PushType/topic(bundleID:)``.
  public let topic: String
  public let pushType: PushType
  /// 10, 5 or 1.
  public let priority: Int
  /// Unix seconds. 0: now or never. Nil: Apple's default, which is not the same.
  public let expiration: Int64?
  /// At most 64 bytes.
  public let collapseID: String?
  /// Lower-case UUID; the same on every attempt.
  public let apnsID: String
  /// JSON; shared by copy-on-write between the pushes of one job.
  public let payload: [UInt8]
  /// The gateway that the token belongs to.
  public let environment: PushEnvironment
  /// Nil: nobody's; then each token counts as an owner of its own, among those of nobody.
  public let owner: PushOwner?

  let completion: @EventLoop (PushAnswer) -> Void

  /// On CLOCK_MONOTONIC, nanoseconds; set by `send`.
  var sentAt: UInt64 = 0
  var deadline: UInt64 = 0
  var isFinished = false
  var route: Route?
  /// How often it was sent again because APNs certainly had not processed it.
  var resends = 0
  /// How often it was sent again because its provider token was refused.
  var tokenResends = 0
  /// The provider token that the last attempt carried.
  var tokenGeneration = 0
  /// It tries a paused route.
  var isProbe = false
  /// Of the one connection that it is on, which is on the loop: nghttp2's callbacks cannot say so.
  nonisolated(unsafe) var stream = PushStream()

  // Links of the one ``PushList`` it is in.
  var next: Push?
  unowned(unsafe) var previous: Push?

  /// - Parameters:
  ///   - priority: nil for the default of the push type.
  ///   - completion: called exactly once, on the loop, in a later turn than `send`.
  public init(
    token: String, topic: String, pushType: PushType = .alert, priority: Int? = nil, expiration: Int64? = nil,
    collapseID: String? = nil, apnsID: String, payload: [UInt8], environment: PushEnvironment,
    owner: PushOwner? = nil, completion: @escaping @EventLoop (PushAnswer) -> Void
  ) {
    self.token = token
    self.topic = topic
    self.pushType = pushType
    self.priority = priority ?? pushType.defaultPriority
    self.expiration = expiration
    self.collapseID = collapseID
    self.apnsID = apnsID
    self.payload = payload
    self.environment = environment
    self.owner = owner
    self.completion = completion
  }
}
