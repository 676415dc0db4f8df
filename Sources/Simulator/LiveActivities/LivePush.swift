/// An accepted push of type `liveactivity`, or a broadcast.
struct LivePush: Equatable, Sendable {
  let payload: LiveActivityPayload
  /// Equal for a push that is sent again.
  let id: PushID
  /// Unix seconds: the push is not delivered later. 0: it is delivered at once or never. Nil: as long as APNs likes.
  let expiration: Int64?

  /// Whether it is kept for a device that is offline.
  var isStored: Bool { expiration != 0 }

  /// Whether it may be delivered at `now`, in unix milliseconds.
  func isValid(at now: Int64) -> Bool {
    guard let expiration else { return true }
    return expiration >= now / 1000
  }
}

extension LivePush {
  /// Nil if the head or the body is not valid.
  init?(_ head: RequestHead, body: [UInt8], id: PushID) {
    guard let payload = LiveActivityPayload(parsing: body) else { return nil }
    self.payload = payload
    self.id = id
    expiration = head[.expiration].flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
  }
}
