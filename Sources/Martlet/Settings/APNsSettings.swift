import PushModel
import APNs

/// The provider key and the gateway. The names of the Claudiator server are accepted for the same things.
struct APNsSettings {
  /// Nil: none of it is set, polling-only mode; or it is wrong, and reported; or a part is ``missing``.
  var configuration: APNsConfiguration?
  var bundleID: String?
  var defaultEnvironment = PushEnvironment.production
  /// Whether a setting says which environment it is.
  var isEnvironmentNamed = false
  /// What a complete configuration lacks.
  var missing: [String] = []

  private static let claudiatorBundleName = "CLAUDIATOR_APNS_BUNDLE_ID"
  private static let claudiatorBundleID = "com.claudiator.app"
  /// The key file of the push server, in the working directory.
  private static let pushServerKeyPath = "apns_push_key.p8"

  private typealias Named = (name: String, value: String)

  /// The provider key as it is told.
  private struct Key {
    var id: Named?
    var team: Named?
    var path: Named?
    var hasText: Bool

    init(_ reader: inout EnvironmentReader) {
      id = reader.first(of: ["APNS_KEY_ID", "CLAUDIATOR_APNS_KEY_ID", "keyId"])
      team = reader.first(of: ["APNS_TEAM_ID", "CLAUDIATOR_APNS_TEAM_ID", "teamId"])
      hasText = reader.secret("APNS_PRIVATE_KEY") != nil
      for name in ["APNS_KEY_PATH", "CLAUDIATOR_APNS_KEY_PATH"] {
        guard let value = reader.path(name), path == nil else { continue }
        path = (name, value)
      }
      if isOfPushServer, path == nil, !hasText { path = (pushServerKeyPath, pushServerKeyPath) }
    }

    /// The push server has many apps, and each of its tokens names its own.
    var isOfPushServer: Bool { id?.name == "keyId" && team?.name == "teamId" }

    var isOfClaudiator: Bool { [id, team, path].contains { $0?.name.hasPrefix("CLAUDIATOR") == true } }

    func text(_ reader: inout EnvironmentReader) -> String? {
      if hasText { return reader.pem("APNS_PRIVATE_KEY", isSecret: true) }
      return path.flatMap { reader.file($0.name, path: $0.value) }
    }
  }

  /// A part of the settings without the others is a fault, unless `isPartAllowed`.
  static func read(_ reader: inout EnvironmentReader, isPartAllowed: Bool = false) -> APNsSettings {
    var settings = APNsSettings()
    let key = Key(&reader)
    let bundleID = reader.first(of: ["APNS_BUNDLE_ID", claudiatorBundleName])
    settings.bundleID = bundleID.flatMap { readBundleID($0, &reader) }
    settings.readEnvironment(&reader)
    let connections = reader.integer("APNS_CONNECTIONS", in: APNsConfiguration.connectionRange, default: 1)
    let certificate = readAuthorities(&reader)
    let override = readOverride(&reader)
    if bundleID == nil, key.isOfClaudiator { settings.bundleID = claudiatorBundleID }
    let parts = [
      ("APNS_KEY_ID", key.id != nil), ("APNS_TEAM_ID", key.team != nil),
      ("APNS_BUNDLE_ID", bundleID != nil || settings.bundleID != nil || key.isOfPushServer),
      ("APNS_PRIVATE_KEY", key.hasText || key.path != nil),
    ]
    settings.missing = parts.filter { !$0.1 }.map(\.0)
    // The app alone configures nothing where it has a default.
    let isAppAlone = bundleID?.name == claudiatorBundleName && settings.missing.count == parts.count - 1
    if settings.missing.count == parts.count || isAppAlone { return settings }
    if !isPartAllowed { settings.reportMissing(&reader) }
    let keyID = key.id.flatMap { readIdentifier($0, &reader) }
    let teamID = key.team.flatMap { readIdentifier($0, &reader) }
    let pem = key.text(&reader)
    guard settings.missing.isEmpty, let keyID, let teamID, let pem else { return settings }
    do {
      settings.configuration = try APNsConfiguration(
        credentials: .init(keyID: keyID, teamID: teamID, privateKeyPEM: pem),
        gateway: .init(endpointOverride: override, caCertificatePEM: certificate),
        defaultEnvironment: settings.defaultEnvironment, connectionsPerEnvironment: connections)
    } catch {
      reader.report(
        key.hasText ? "APNS_PRIVATE_KEY" : key.path?.name ?? "APNS_KEY_PATH", seen: "\(error)",
        expected: "the .p8 key of the developer account with its key id and team id")
    }
    return settings
  }

  private mutating func readEnvironment(_ reader: inout EnvironmentReader) {
    guard let named = reader.first(of: ["APNS_USE_SANDBOX", "CLAUDIATOR_APNS_SANDBOX"]) else { return }
    isEnvironmentNamed = true
    if reader.boolean(named.name) { defaultEnvironment = .sandbox }
  }

  private func reportMissing(_ reader: inout EnvironmentReader) {
    for name in missing {
      reader.report(
        name, seen: name == "APNS_PRIVATE_KEY" ? "not set, nor APNS_KEY_PATH" : "not set",
        expected: "a value, as other APNS_* settings are there (or none of them for polling-only mode)")
    }
  }

  /// Certificates that are trusted beside the system's.
  private static func readAuthorities(_ reader: inout EnvironmentReader) -> String? {
    guard let text = reader.pem("APNS_CA_CERT") else { return nil }
    do {
      try APNsConfiguration.check(caCertificatePEM: text)
      return text
    } catch {
      reader.report("APNS_CA_CERT", seen: "\(error)", expected: "PEM text or a file of one or more certificates")
      return nil
    }
  }

  /// The origin of `APNS_ENDPOINT_OVERRIDE`; path and query are ignored.
  private static func readOverride(_ reader: inout EnvironmentReader) -> String? {
    guard let value = reader.url("APNS_ENDPOINT_OVERRIDE") else { return nil }
    let scheme = "https://"
    let host = value.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
    let origin = scheme + host
    guard value.lowercased().hasPrefix(scheme), !host.isEmpty, APNsConfiguration.isOrigin(origin) else {
      reader.report("APNS_ENDPOINT_OVERRIDE", wrong: value, expected: "https://host[:port]")
      return nil
    }
    return origin
  }

  /// A key id or a team id.
  private static func readIdentifier(_ named: Named, _ reader: inout EnvironmentReader) -> String? {
    guard APNsConfiguration.isIdentifier(named.value) else {
      reader.report(named.name, wrong: named.value, expected: "10 letters and digits")
      return nil
    }
    return named.value
  }

  private static func readBundleID(_ named: Named, _ reader: inout EnvironmentReader) -> String? {
    guard BundleID.isWellFormed(named.value) else {
      reader.report(named.name, wrong: named.value, expected: "1 to 200 letters, digits or any of ._-")
      return nil
    }
    return named.value
  }
}
