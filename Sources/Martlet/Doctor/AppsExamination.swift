import APNs
import EventLoop
import Operations
import Program

/// Checks the apps of `MARTLET_APPS`: their keys and their gateways. Its output does not grow with the number of
/// apps.
@EventLoop
struct AppsExamination {
  /// Apps that a finding names.
  private static let maximumNamed = 10
  /// Gateways that are connected to.
  private static let maximumGateways = 16

  let apps: [APNsApp]
  /// `APNS_BUNDLE_ID`
  let bundleID: String?

  func findings() async -> [Finding] {
    guard !apps.isEmpty else { return bareDevices() }
    return [signing()] + notes() + bareDevices() + (await reach())
  }

  /// Without a default app nothing gives one to devices that were registered for none.
  private func bareDevices() -> [Finding] {
    guard bundleID == nil else { return [] }
    return [
      Finding(
        "default app", .fact,
        "APNS_BUNDLE_ID is not set: a job to an app reaches no device that was registered for none",
        fix: "set it, unless every device names its app")
    ]
  }

  private func signing() -> Finding {
    let keys = Set(apps.flatMap(\.configurations).flatMap { $0.keyNames.map(\.keyID) }).count
    let broken = apps.filter { app in
      do throws(APNsError) {
        for configuration in app.configurations { try configuration.checkSigning() }
        return false
      } catch {
        return true
      }
    }
    guard broken.isEmpty else {
      return Finding(
        "apps", .problem, "keys that do not sign: \(AppsExamination.names(broken))",
        fix: "name the .p8 keys of the developer account in MARTLET_APPS")
    }
    let bundleIDs = apps.reduce(0) { $0 + $1.bundleIDs.count }
    return Finding("apps", .ok, "\(apps.count) with \(bundleIDs) bundle ids and \(keys) keys; every key signs")
  }

  private func notes() -> [Finding] {
    guard let bundleID, let app = apps.first(where: { $0.bundleIDs.contains(bundleID) }) else { return [] }
    return [
      Finding(
        "apps", .fact, "\(bundleID) is APNS_BUNDLE_ID and in MARTLET_APPS (app \(app.name)), whose key is used for it",
        fix: "remove it from one of both")
    ]
  }

  /// Connects to each gateway once, to all at the same time.
  private func reach() async -> [Finding] {
    var order: [[UInt8]] = []
    var users: [[UInt8]: (apps: [APNsApp], configuration: APNsConfiguration)] = [:]
    for app in apps {
      for configuration in app.configurations {
        let gateway = configuration.connection
        if users[gateway] == nil { order.append(gateway) }
        users[gateway, default: ([], configuration)].apps.append(app)
      }
    }
    let examinations = order.prefix(AppsExamination.maximumGateways).compactMap { users[$0] }.map { user in
      EventLoop.start {
        await GatewayExamination.reach(
          user.configuration, "apns of \(AppsExamination.names(user.apps, maximum: 1))")
      }
    }
    var findings: [Finding] = []
    for examination in examinations { findings.append(await examination.value) }
    if order.count > AppsExamination.maximumGateways {
      findings.append(
        Finding("apns", .fact, "\(order.count - AppsExamination.maximumGateways) more gateways were not connected to"))
    }
    return findings
  }

  /// `com.example.one, com.example.two and 8 more`
  private static func names(_ apps: [APNsApp], maximum: Int = maximumNamed) -> String {
    let names = apps.prefix(maximum).map(\.name).joined(separator: ", ")
    return apps.count > maximum ? "\(names) and \(apps.count - maximum) more" : names
  }
}
