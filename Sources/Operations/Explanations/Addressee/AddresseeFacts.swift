import Policy
import PushModel
import Queue
import Registry

/// A device, or an entry of a set that should be one.
struct DeviceFacts: Equatable {
  var token: String
  /// The registration; nil if there is none, or if it cannot be read.
  var metadata: DeviceMetadata?
  /// Why the entry is not a device of its owner; nil if it is.
  var removal: Removal.Reason?
  /// What APNs refused last.
  var refusal: RefusalNote?
  /// Whether APNs has called the token of an instance stale.
  var isStale = false
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

  var defaultEnvironment: String? { apps.first?.defaultEnvironment }

  /// The longest pause of a route to the app.
  func pausedRoute(of bundleID: String, _ environment: String?) -> RouteNotice? {
    workers.values.flatMap(\.pausedRoutes)
      .filter { route in
        (environment == nil || route.environment.rawValue == environment)
          && (route.topic == bundleID || route.topic.hasPrefix(bundleID + "."))
      }
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

/// How much of the limits of a policy an instance has used.
struct PolicyFacts {
  var policy: DeliveryPolicy
  var state: PolicyState
}

/// What Redis knows of an addressee.
struct AddresseeFacts {
  var addressee: InspectedAddressee
  /// Of a user: the entries of its set that were read. Else at most one.
  var devices: [DeviceFacts] = []
  /// Entries of a user's set.
  var setSize: Int64 = 0
  /// Whether the owner of a token has it in its set.
  var isInSetOfOwner = true
  /// Why the last device of a user that APNs called stale was removed.
  var removal: RefusalNote?
  /// The latest notification that no push carried.
  var missed: MissedNotification?
  var policies: [PolicyFacts] = []
  var fleet = FleetFacts()
  var showsWholeTokens = false
  var text: TimeText

  func shown(_ token: String) -> String { showsWholeTokens ? token : Words.shortened(token) }
}
