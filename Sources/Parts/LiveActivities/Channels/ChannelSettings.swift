import APNs
import Program
import PushModel
import Worker

/// The settings of commands that manage channels: those of APNs and of the apps.
struct ChannelSettings {
  private(set) var bundleID: String?
  private var apps: [APNsApp] = []
  /// For bundle ids that no app names.
  private var fallback: APNsConfiguration?
  private var defaultEnvironment = PushEnvironment.production

  init() {}

  init(_ reader: inout EnvironmentReader) {
    let settings = APNsSettings.read(&reader)
    self.init(
      apps: AppsFile.read(&reader, beside: settings) ?? [], fallback: settings.configuration,
      bundleID: settings.bundleID, defaultEnvironment: settings.defaultEnvironment)
  }

  init(_ worker: WorkerConfiguration) {
    self.init(
      apps: worker.apps, fallback: worker.apns, bundleID: worker.bundleID,
      defaultEnvironment: worker.defaultEnvironment)
  }

  private init(apps: [APNsApp], fallback: APNsConfiguration?, bundleID: String?, defaultEnvironment: PushEnvironment) {
    self.apps = apps
    self.fallback = fallback
    self.bundleID = bundleID
    self.defaultEnvironment = defaultEnvironment
  }

  /// Those of the apps, and the default one.
  var bundleIDs: [String] {
    apps.flatMap(\.bundleIDs) + (fallback == nil ? [] : [bundleID].compactMap { $0 })
  }

  /// Where the app has channels. Empty if there is no key for it.
  func places(of bundleID: String) -> [ChannelPlace] {
    guard let app = apps.first(where: { $0.bundleIDs.contains(bundleID) }) else {
      return ChannelPlace.all(of: bundleID, { _ in fallback }, default: defaultEnvironment)
    }
    return ChannelPlace.all(
      of: bundleID, { app.configuration(of: bundleID, in: $0) }, default: app.environment ?? defaultEnvironment)
  }
}
