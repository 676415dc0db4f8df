public import Credentials
public import Crypto
public import HTTPServer
public import Policy

/// The settings of a dashboard.
public struct DashboardConfiguration: Sendable {
  /// `host:port` or `unix:/path`.
  public var address: String
  /// With one the dashboard speaks HTTPS only, without one HTTP only.
  public var certificate: ServerCertificate?
  /// In strict order.
  public var queues: [String]
  public var policies = PolicyBook.standard
  /// The app of devices and jobs that name none.
  public var bundleID: String?
  /// Failed sign-ins of a client address for a name. Nil means no limit.
  public var failureLimit: WindowLimit?
  /// The proxies whose `X-Forwarded-…` fields are trusted.
  public var trustedProxies = TrustedProxies()
  /// The version of the program, shown at the foot of each page.
  public var version = ""
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
