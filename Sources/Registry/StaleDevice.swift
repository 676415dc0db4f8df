/// A device whose token APNs called stale.
public struct StaleDevice: Sendable, Equatable {
  public let token: String
  /// As the resolution named them; empty for a device of nobody.
  public let owner: String
  public let bundleID: String?
  /// Unix milliseconds: a later registration stays. When APNs gave no time: when the device was registered, as it was read.
  public let notAfter: Int64

  public init(token: String, owner: String, bundleID: String?, notAfter: Int64) {
    self.token = token
    self.owner = owner
    self.bundleID = bundleID
    self.notAfter = notAfter
  }
}
