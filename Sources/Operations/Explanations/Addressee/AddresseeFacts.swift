import Jobs
import PushModel
import Queue
public import Registry

/// A device, or an entry of a set that should be one.
public struct DeviceFacts: Sendable, Equatable {
  /// A token, unless the entry is none.
  public let token: String
  /// The registration; nil if there is none, or if it cannot be read.
  public internal(set) var metadata: DeviceMetadata?
  /// Why the entry is not a device of its owner; nil if it is.
  var removal: Removal.Reason?
  /// What APNs refused last.
  public internal(set) var refusal: RefusalNote?
  /// The instance whose device it is; nil for a device of a user, an app or nobody.
  public internal(set) var instance: String?
  /// Whether the device of an instance must be registered again.
  public internal(set) var isStale = false
  /// Whether the credential of its instance is disabled or revoked.
  var isSuspended = false

  /// Whether it is a device of the addressee.
  var isDevice: Bool { metadata != nil && removal == nil }

  /// The topic under which APNs accepts the token; nil if it was registered for no app.
  var topic: String? {
    guard let metadata, let app = metadata.bundleID else { return nil }
    return metadata.kind.topic(bundleID: app)
  }
}

extension DeviceKind {
  /// The topic under which APNs accepts tokens of this kind.
  func topic(bundleID: String) -> String {
    PushType.allCases.first { $0.isSent(to: self) }?.topic(bundleID: bundleID) ?? bundleID
  }
}

/// What the live workers say about what they push to.
struct FleetFacts {
  var workers: [String: WorkerReport] = [:]

  private var apps: [AppsReport] { workers.values.compactMap(\.apps) }

  /// Whether no worker pushes to anything.
  var isPollingOnly: Bool { !apps.isEmpty && apps.allSatisfy(\.isPollingOnly) }

  /// Whether some worker pushes to the app; nil if that is unknown.
  func serves(_ bundleID: String) -> Bool? {
    let answers = apps.map { $0.serves(bundleID) }
    if answers.contains(true) { return true }
    return answers.isEmpty || answers.contains(nil) ? nil : false
  }

  /// The app of devices that name none; nil if there is none or no worker tells.
  var defaultApp: String? { apps.lazy.compactMap(\.defaultApp).first }

  /// Whether devices that name no app have none.
  var hasNoDefaultApp: Bool { !apps.isEmpty && apps.allSatisfy { $0.defaultApp == nil } }

  /// The environment in which devices of an app are tried whose own is unknown; nil if no worker tells.
  func environment(of app: String?) -> PushEnvironment? {
    let own = workers.values.lazy.flatMap(\.appStates).first { state in
      app.map { state.bundleIDs.contains($0) } ?? false
    }
    return own?.environment ?? apps.first.flatMap { PushEnvironment(named: $0.defaultEnvironment) }
  }

  /// The longest pause of the route to a topic.
  func pausedRoute(of topic: String, _ environment: PushEnvironment?) -> RouteNotice? {
    workers.values.flatMap(\.pausedRoutes)
      .filter { (environment == nil || $0.environment == environment) && $0.topic == topic }
      .min { $0.since < $1.since }
  }
}

/// A notification that was not pushed, from the records for polling.
struct MissedNotification: Equatable {
  var jobID: String
  var status: String
  /// Unix ms.
  var at: Int64
}

/// What Redis knows of an addressee.
public struct AddresseeFacts {
  /// Devices of a user that an explanation looks at, at most.
  private static let maximumExplained = 100

  var addressee: InspectedAddressee
  /// Of a user: the entries of its set that were read, in their order. Of a token: its registration, and the instance whose
  /// device it is.
  var devices: [DeviceFacts] = []
  /// Entries of a user's set.
  var setSize: Int64 = 0
  /// Whether the owner of a token has it in its set.
  var isInSetOfOwner = true
  /// Why the last device of a user that APNs called stale was removed.
  var removal: RefusalNote?
  /// The latest notification that no push carried.
  var missed: MissedNotification?
  var parts: [PartFacts] = []
  var fleet = FleetFacts()
  var showsWholeTokens = false
  var text: TimeText

  func shown(_ token: String) -> String { showsWholeTokens ? token : Words.shortened(token) }

  /// The devices of the addressee, in the order of their tokens.
  public var registered: [DeviceFacts] { devices.filter(\.isDevice) }

  /// Pages of the dashboard with more about the addressee.
  public var pages: [PageReference] { parts.compactMap(\.page) }

  /// Whether ``registered`` has all of them.
  public var isComplete: Bool { setSize <= devices.count }

  public var explanation: AddresseeExplanation {
    var facts = self
    facts.devices = Array(devices.prefix(AddresseeFacts.maximumExplained))
    return AddresseeExplanation(facts)
  }
}
