/// Something wrong in a policy file.
public struct PolicyFault: Sendable, Equatable {
  /// `policies[0].limits[1].seconds`; empty for the file itself.
  public let path: String
  public let seen: String
  public let expected: String
}
