/// An entry of a set that must not stay there.
public struct Removal: Sendable, Equatable {
  public enum Reason: String, Sendable {
    /// Never to be found registered: no token has this form.
    case malformedToken = "malformed_token"
    case noMetadata = "no_metadata"
    case invalidMetadata = "invalid_metadata"
    case otherOwner = "other_owner"
    case otherApp = "other_app"
  }

  /// As it stands in the set; any bytes.
  public let entry: [UInt8]
  public let reason: Reason

  public init(entry: [UInt8], reason: Reason) {
    self.entry = entry
    self.reason = reason
  }
}
