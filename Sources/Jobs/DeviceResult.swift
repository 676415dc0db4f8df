/// What became of one push.
public struct DeviceResult: Sendable, Equatable {
  public let token: String
  public let ok: Bool
  /// Of APNs' answer; 0 when there was none.
  public let status: Int
  public let apnsID: String
  /// APNs' reason, or ours. Nil when it was accepted.
  public let reason: String?

  public init(token: String, ok: Bool, status: Int, apnsID: String, reason: String? = nil) {
    self.token = token
    self.ok = ok
    self.status = status
    self.apnsID = apnsID
    self.reason = reason
  }
}
