public import JSON

/// An app that APNs answers slowly, as a ``WorkerReport`` stores it.
public struct SlowAppReport: Sendable, Equatable {
  /// Entries of a report, at most.
  public static let maximumListed = 20

  /// The first bundle id of the app; `other` for the apps that have no separate share.
  public var app: String
  /// Pushes in flight.
  public var inFlight: Int
  /// Pushes that may be in flight.
  public var concurrency: Int
  /// Jobs that wait in the worker's memory.
  public var waiting: Int

  public init(app: String, inFlight: Int, concurrency: Int, waiting: Int) {
    self.app = app
    self.inFlight = inFlight
    self.concurrency = concurrency
    self.waiting = waiting
  }

  public var object: JSONObject {
    ["app": app, "inFlight": inFlight, "concurrency": concurrency, "waiting": waiting]
  }
}
