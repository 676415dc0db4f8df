/// What APNs said about one push.
public struct APNsAnswer: Sendable, Equatable {
  /// HTTP status, 200...599.
  public let status: Int
  /// Apple's reason; `HTTP_<status>` when the refusal gave none; nil on 200.
  public let reason: String?
  /// On 410: since when the token has been invalid, unix milliseconds.
  public let timestamp: Int64?
  /// `apns-unique-id`, given by the sandbox only.
  public let apnsUniqueID: String?
  /// Seconds, from a `Retry-After` header in its numeric form.
  public let retryAfterSeconds: Int?

  public init(
    status: Int, reason: String? = nil, timestamp: Int64? = nil, apnsUniqueID: String? = nil,
    retryAfterSeconds: Int? = nil
  ) {
    self.status = status
    self.reason = reason
    self.timestamp = timestamp
    self.apnsUniqueID = apnsUniqueID
    self.retryAfterSeconds = retryAfterSeconds
  }

  /// An answer from the parts of a response; `body` may be anything.
  init(status: Int, body: [UInt8], apnsUniqueID: String?, retryAfterSeconds: Int?) {
    guard status != 200 else {
      self.init(status: status, apnsUniqueID: apnsUniqueID)
      return
    }
    let refusal = RefusalBody(body)
    self.init(
      status: status, reason: refusal.reason ?? "HTTP_\(status)", timestamp: refusal.timestamp,
      apnsUniqueID: apnsUniqueID, retryAfterSeconds: retryAfterSeconds)
  }
}
