/// A device that may be sent to.
public struct Device: Sendable, Equatable {
  public let token: String
  /// Nil: the producer named the token, and nobody has registered it.
  public let metadata: DeviceMetadata?

  public init(token: String, metadata: DeviceMetadata?) {
    self.token = token
    self.metadata = metadata
  }

  public var username: String? { metadata?.username }
  public var bundleID: String? { metadata?.bundleID }
  public var environment: String? { metadata?.environment }
  public var isAndroid: Bool { metadata?.platform == .android }
}
