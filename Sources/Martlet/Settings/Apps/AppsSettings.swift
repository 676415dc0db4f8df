import APNs

/// The apps of the file that `MARTLET_APPS` names.
struct AppsSettings {
  let file: AppsFile
  let apps: [APNsApp]

  /// Reads the setting and the file, and reports every fault. Nil if the setting is absent. `gateway` has the `APNS_*` settings.
  static func read(_ reader: inout EnvironmentReader, beside gateway: APNsSettings) -> AppsSettings? {
    guard let path = reader.path(AppsFile.setting) else { return nil }
    let file = AppsFile(
      path: path, defaultEnvironment: gateway.defaultEnvironment, beside: gateway.configuration)
    let (apps, faults) = file.read()
    reader.report(AppsFile.setting, path, faults)
    return AppsSettings(file: file, apps: apps)
  }
}
