public import PushModel

/// One app of a fleet: its bundle ids, and how pushes to them reach APNs.
public struct APNsApp: Sendable {
  /// Valid shares of the permits.
  public static let shareRange = 1...1000

  /// Not empty, without duplicates.
  public let bundleIDs: [String]
  public let configuration: APNsConfiguration
  /// The environment of devices that were registered without one; nil for the default of the process.
  public let environment: PushEnvironment?
  /// Of the permits, relative to the other apps; within ``shareRange``.
  public let share: Int

  public init(
    bundleIDs: [String], configuration: APNsConfiguration, environment: PushEnvironment? = nil, share: Int = 1
  ) {
    precondition(!bundleIDs.isEmpty, "an app has a bundle id")
    self.bundleIDs = bundleIDs
    self.configuration = configuration
    self.environment = environment
    self.share = share
  }

  /// The first bundle id names the app in logs and metrics.
  public var name: String { bundleIDs[0] }
}
