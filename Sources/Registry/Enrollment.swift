/// What a registration led to.
public struct Enrollment: Sendable, Equatable {
  /// As it stands in the registry now.
  public let device: Device
  /// Who had it before, if somebody else did.
  public let previousOwner: String?
}
