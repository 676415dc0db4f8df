public import Crypto

/// The settings of a dashboard.
public struct DashboardConfiguration: Sendable {
  /// `host:port` or `unix:/path`.
  public var address: String
  /// With one the dashboard speaks HTTPS only, without one HTTP only.
  public var certificate: ServerCertificate?
  /// In strict order.
  public var queues: [String]
  /// The number of devices that one user may have.
  public var maximumDevices = 100
  /// Returns what an operator should do about a route that is paused for a reason of APNs.
  public var fixOfPause: @Sendable (_ reason: String) -> String = { _ in "" }
  /// What an operator should do about a route whose tokens are no longer removed.
  public var fixOfStoppedRemoval = ""

  public init(address: String, queues: [String]) {
    self.address = address
    self.queues = queues
  }
}
