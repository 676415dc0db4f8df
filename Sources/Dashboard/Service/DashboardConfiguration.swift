public import Credentials
import EventLoop
public import HTTPServer
import Jobs
public import Operations
public import Redis

/// The settings of a dashboard.
public struct DashboardConfiguration: Sendable {
  public var listener: HTTPServerConfiguration
  /// In strict order.
  public var queues: [String]
  /// Failed sign-ins of a client address for a name. Nil means no limit.
  public var failureLimit: WindowLimit?
  /// The version of the program, shown at the foot of each page.
  public var version = ""
  /// The number of devices that one user may have.
  public var maximumDevices = 100

  /// Whether events are written to `push:events`.
  public var writesEvents = false
  /// Make further pages.
  package var pages: [@EventLoop @Sendable (DashboardContext) -> any DashboardPage] = []
  /// What parts know of addressees.
  public var explainers: [any AddresseeExplainer] = []
  /// Reads what the overview shows of parts.
  public var statuses: StatusReader?

  public typealias StatusReader =
    @EventLoop @Sendable (RedisClient) async throws(RedisError) -> [PartStatus]

  public init(listener: HTTPServerConfiguration, queues: [String]) {
    self.listener = listener
    self.queues = queues
  }
}
