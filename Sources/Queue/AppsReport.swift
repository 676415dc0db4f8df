import JSON

/// The apps that a worker pushes to, as a ``WorkerReport`` stores them.
public struct AppsReport: Sendable, Equatable {
  /// Bundle ids of a report, at most.
  public static let maximumListed = 50

  /// The bundle ids of configured apps. There are more if ``isComplete`` is false.
  public var bundleIDs: [String]
  public var isComplete: Bool
  /// Whether other bundle ids have a key, too.
  public var servesOthers: Bool
  /// The app of jobs and devices that do not name one.
  public var defaultApp: String?
  /// The environment of devices that were registered without one.
  public var defaultEnvironment: String

  public init(
    bundleIDs: [String], isComplete: Bool = true, servesOthers: Bool, defaultApp: String?, defaultEnvironment: String
  ) {
    self.bundleIDs = bundleIDs
    self.isComplete = isComplete
    self.servesOthers = servesOthers
    self.defaultApp = defaultApp
    self.defaultEnvironment = defaultEnvironment
  }

  /// `{"bundleIds","more"?,"others","default"?,"environment"}`
  var object: JSONObject {
    [
      "bundleIds": bundleIDs, "more": isComplete ? nil : true, "others": servesOthers, "default": defaultApp,
      "environment": defaultEnvironment,
    ]
  }
}
