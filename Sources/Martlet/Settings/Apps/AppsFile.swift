import APNs
import JSON
import PushModel

/// The file of `MARTLET_APPS`: `{"apps":[…]}`, described in docs/apps.md.
struct AppsFile: Sendable {
  static let setting = "MARTLET_APPS"
  static let maximumBytes = 4 * 1024 * 1024
  static let maximumApps = 10_000
  static let expected = "the path of a readable JSON file of apps"

  let path: String
  /// The environment of apps that name none.
  let defaultEnvironment: PushEnvironment
  /// The ids of the `APNS_*` key, which the keys of the file must not contradict. Nil if there is none.
  let ownKey: (keyID: String, teamID: String)?

  init(path: String, defaultEnvironment: PushEnvironment, beside configuration: APNsConfiguration?) {
    self.path = path
    self.defaultEnvironment = defaultEnvironment
    ownKey = configuration?.keyNames.first
  }

  /// Returns the apps and every fault of the file. The apps are to be used only if there is no fault.
  func read() -> (apps: [APNsApp], faults: [AppsFault]) {
    do throws(SettingFile.Fault) {
      let bytes = try SettingFile.read(path, maximumBytes: AppsFile.maximumBytes)
      return read(bytes, files: AppsKeyFiles(directory: directory))
    } catch {
      return (
        [], [AppsFault(place: "", seen: "the file \(error.reason)", expected: error.expected ?? AppsFile.expected)]
      )
    }
  }

  /// `files` are the keys and certificates that the file names.
  func read(_ bytes: [UInt8], files: AppsKeyFiles) -> (apps: [APNsApp], faults: [AppsFault]) {
    var reader = AppsReader(files: files, defaultEnvironment: defaultEnvironment)
    if let ownKey { reader.register.addOwnKey(ownKey.keyID, team: ownKey.teamID) }
    let value: JSONValue
    do {
      value = try JSONValue(parsing: bytes)
    } catch {
      reader.report("", seen: "not JSON: \(error)", expected: "{\"apps\":[…]}")
      return ([], reader.faults)
    }
    var apps: [APNsApp] = []
    if let file = reader.object(value, "", members: ["apps"]), reader.require(file, "apps") {
      let entries = reader.list(file, "apps", count: 1...AppsFile.maximumApps)
      apps.reserveCapacity(entries.count)
      for (index, entry) in entries.enumerated() {
        if let app = reader.app(entry.value, entry.place, index: index) { apps.append(app) }
      }
    }
    return (apps, reader.faults)
  }

  /// Paths in the file are relative to its directory.
  private var directory: String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}

/// An invalid value in the file of the apps.
struct AppsFault: Error, Sendable, Equatable {
  /// `apps[2].keys[0].path`; empty for the file itself.
  let place: String
  /// What was found. Never a secret.
  let seen: String
  let expected: String
}
