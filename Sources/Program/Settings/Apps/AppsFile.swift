package import APNs
package import JSON
package import PushModel

/// The file of `MARTLET_APPS`: `{"apps":[…]}`, described in docs/apps.md.
package struct AppsFile: Sendable {
  package static let maximumBytes = 4 * 1024 * 1024
  package static let maximumApps = 10_000
  package static let expected = "the path of a readable JSON file of apps"

  package let path: String
  /// The environment of apps that name none.
  package let defaultEnvironment: PushEnvironment
  /// The ids of the `APNS_*` key, which the keys of the file must not contradict. Nil if there is none.
  package let ownKey: (keyID: String, teamID: String)?

  package init(path: String, defaultEnvironment: PushEnvironment, beside configuration: APNsConfiguration?) {
    self.path = path
    self.defaultEnvironment = defaultEnvironment
    ownKey = configuration?.keyNames.first
  }

  /// The apps of the file of the setting. Reports every fault. Nil if the setting is absent. `gateway` has the `APNS_*` settings.
  package static func read(
    _ reader: inout EnvironmentReader, beside gateway: APNsSettings
  ) -> [APNsApp]? {
    guard let path = reader.text(.apps) else { return nil }
    let file = AppsFile(
      path: path, defaultEnvironment: gateway.defaultEnvironment, beside: gateway.configuration)
    let (apps, faults) = file.read()
    reader.report(Setting.apps.name, path, faults)
    return apps
  }

  /// Returns the apps and every fault of the file. The apps are to be used only if there is no fault.
  package func read() -> (apps: [APNsApp], faults: [InvalidValue]) {
    do throws(InvalidValue) {
      let bytes = try SettingFile.read(path, maximumBytes: AppsFile.maximumBytes, expected: AppsFile.expected)
      return read(bytes, files: AppsKeyFiles(directory: directory))
    } catch {
      return ([], [error])
    }
  }

  /// `files` are the keys and certificates that the file names.
  package func read(_ bytes: [UInt8], files: AppsKeyFiles) -> (apps: [APNsApp], faults: [InvalidValue]) {
    var reader = AppsReader(files: files, defaultEnvironment: defaultEnvironment)
    if let ownKey { reader.register.addOwnKey(ownKey.keyID, team: ownKey.teamID) }
    let entries = reader.fields.elements(of: "apps", in: bytes, count: 1...AppsFile.maximumApps)
    return (entries.compactMap { reader.app($0.value, $0.place) }, reader.fields.faults)
  }

  /// Paths in the file are relative to its directory.
  private var directory: String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
