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

  /// Whether the worker pushes to nothing: polling-only mode.
  public var isPollingOnly: Bool { bundleIDs.isEmpty && !servesOthers }

  /// Whether the worker can push to the app; nil if the report does not tell.
  public func serves(_ bundleID: String) -> Bool? {
    servesOthers || bundleIDs.contains(bundleID) ? true : isComplete ? false : nil
  }

  /// Returns nil if `value` is not a report.
  init?(_ value: JSONValue?) {
    guard let value, let list = value["bundleIds"]?.array else { return nil }
    self.init(
      bundleIDs: list.prefix(AppsReport.maximumListed).compactMap(\.string), isComplete: value["more"]?.bool != true,
      servesOthers: value["others"]?.bool ?? false, defaultApp: value["default"]?.string,
      defaultEnvironment: value["environment"]?.string ?? "production")
  }

  /// `{"bundleIds","more"?,"others","default"?,"environment"}`
  var object: JSONObject {
    [
      "bundleIds": bundleIDs, "more": isComplete ? nil : true, "others": servesOthers, "default": defaultApp,
      "environment": defaultEnvironment,
    ]
  }
}
