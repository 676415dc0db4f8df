public import Redis

/// The answer to a ``DeviceQuery``.
public struct Resolution: Sendable, Equatable {
  public var devices: [Device]
  /// Entries that were found in a user's set and do not belong there.
  public var misplaced: [Misplaced]
  /// Redis did not answer: nothing is known.
  public var error: RedisError?

  public init(devices: [Device] = [], misplaced: [Misplaced] = [], error: RedisError? = nil) {
    self.devices = devices
    self.misplaced = misplaced
    self.error = error
  }
}

/// An entry of a set that is not sent to, and why.
public struct Misplaced: Sendable, Equatable {
  public enum Reason: String, Sendable {
    case malformedToken, noMetadata, malformedMetadata, otherOwner
  }

  /// As it stands in the set; may be any bytes.
  public let entry: [UInt8]
  public let reason: Reason
}
