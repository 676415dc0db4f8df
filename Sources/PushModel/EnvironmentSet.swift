/// Environments of APNs.
public struct EnvironmentSet: OptionSet, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  public init(_ environment: PushEnvironment) {
    self = environment == .production ? .production : .sandbox
  }

  public static let production = EnvironmentSet(rawValue: 1)
  public static let sandbox = EnvironmentSet(rawValue: 2)
  public static let both: EnvironmentSet = [.production, .sandbox]
}
