import APNs

/// The provider key and the gateway. The names of the Claudiator server are accepted for the same things.
struct APNsSettings {
  /// Nil: none of it is set, polling-only mode; or it is wrong, and reported; or a part is ``missing``.
  var configuration: APNsConfiguration?
  var bundleID: String?
  var defaultEnvironment = APNsEnvironment.production
  /// Whether a setting says which environment it is.
  var isEnvironmentNamed = false
  /// What a complete configuration lacks.
  var missing: [String] = []

  private static let claudiatorBundleName = "CLAUDIATOR_APNS_BUNDLE_ID"
  private static let claudiatorBundleID = "com.claudiator.app"

  /// A part of the settings without the others is a fault, unless `isPartAllowed`.
  static func read(_ reader: inout EnvironmentReader, isPartAllowed: Bool = false) -> APNsSettings {
    var settings = APNsSettings()
    let keyID = reader.first(of: ["APNS_KEY_ID", "CLAUDIATOR_APNS_KEY_ID"])
    let teamID = reader.first(of: ["APNS_TEAM_ID", "CLAUDIATOR_APNS_TEAM_ID"])
    let keyPath = reader.first(of: ["APNS_KEY_PATH", "CLAUDIATOR_APNS_KEY_PATH"])
    let keyText = reader.string("APNS_PRIVATE_KEY")
    let bundleID = reader.first(of: ["APNS_BUNDLE_ID", claudiatorBundleName])
    settings.bundleID = bundleID?.value
    settings.readEnvironment(&reader)
    let connections = reader.integer("APNS_CONNECTIONS", in: APNsConfiguration.connectionRange, default: 1)
    let certificate = readAuthorities(&reader)
    let override = readOverride(&reader)

    let usesClaudiatorNames = [keyID?.name, teamID?.name, keyPath?.name].contains {
      $0?.hasPrefix("CLAUDIATOR") == true
    }
    if settings.bundleID == nil, usesClaudiatorNames { settings.bundleID = claudiatorBundleID }
    let parts = [
      ("APNS_KEY_ID", keyID != nil), ("APNS_TEAM_ID", teamID != nil), ("APNS_BUNDLE_ID", settings.bundleID != nil),
      ("APNS_PRIVATE_KEY", keyText != nil || keyPath != nil),
    ]
    settings.missing = parts.filter { !$0.1 }.map(\.0)
    // The app alone configures nothing where it has a default.
    let isAppAlone = bundleID?.name == claudiatorBundleName && settings.missing.count == parts.count - 1
    if settings.missing.count == parts.count || isAppAlone { return settings }
    if !isPartAllowed { settings.reportMissing(&reader) }
    let pem = keyText != nil ? reader.pem("APNS_PRIVATE_KEY") : keyPath.flatMap { reader.file($0.name, path: $0.value) }
    guard let keyID, let teamID, let pem, settings.bundleID != nil else { return settings }
    do {
      settings.configuration = try APNsConfiguration(
        keyID: keyID.value, teamID: teamID.value, privateKeyPEM: pem, defaultEnvironment: settings.defaultEnvironment,
        endpointOverride: override, caCertificatePEM: certificate, connectionsPerEnvironment: connections)
    } catch {
      reader.report(
        keyText != nil ? "APNS_PRIVATE_KEY" : "APNS_KEY_PATH", seen: "\(error)",
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
    guard let value = reader.string("APNS_ENDPOINT_OVERRIDE") else { return nil }
    let scheme = "https://"
    let host = value.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
    guard value.lowercased().hasPrefix(scheme), !host.isEmpty, !host.contains("@") else {
      reader.report("APNS_ENDPOINT_OVERRIDE", seen: "'\(value)'", expected: "https://host[:port]")
      return nil
    }
    do {
      try APNsConfiguration.check(endpoint: scheme + host)
    } catch {
      reader.report("APNS_ENDPOINT_OVERRIDE", seen: "\(error)", expected: "https://host[:port]")
      return nil
    }
    return scheme + host
  }
}
