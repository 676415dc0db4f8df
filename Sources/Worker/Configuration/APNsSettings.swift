import APNs

/// The provider key and the gateway. The names of the Claudiator server are accepted for the same things.
struct APNsSettings {
  /// Nil: none of it is set, polling-only mode; or it is wrong, and reported.
  var configuration: APNsConfiguration?
  var bundleID: String?
  var defaultEnvironment = APNsEnvironment.production

  private static let claudiatorBundleID = "com.claudiator.app"

  static func read(_ reader: inout EnvironmentReader) -> APNsSettings {
    var settings = APNsSettings()
    let keyID = reader.first(of: ["APNS_KEY_ID", "CLAUDIATOR_APNS_KEY_ID"])
    let teamID = reader.first(of: ["APNS_TEAM_ID", "CLAUDIATOR_APNS_TEAM_ID"])
    let keyPath = reader.first(of: ["APNS_KEY_PATH", "CLAUDIATOR_APNS_KEY_PATH"])
    let keyText = reader.string("APNS_PRIVATE_KEY")
    let bundleID = reader.first(of: ["APNS_BUNDLE_ID", "CLAUDIATOR_APNS_BUNDLE_ID"])
    settings.bundleID = bundleID?.value
    if reader.boolean("APNS_USE_SANDBOX") || reader.boolean("CLAUDIATOR_APNS_SANDBOX") {
      settings.defaultEnvironment = .sandbox
    }
    let connections = reader.integer("APNS_CONNECTIONS", in: 1...64, default: 1)
    let certificate = reader.pem("APNS_CA_CERT")
    let override = readOverride(&reader)

    let isNothingSet = keyID == nil && teamID == nil && keyPath == nil && keyText == nil && bundleID == nil
    if isNothingSet { return settings }
    let usesClaudiatorNames = [keyID?.name, teamID?.name, keyPath?.name].contains {
      $0?.hasPrefix("CLAUDIATOR") == true
    }
    if settings.bundleID == nil, usesClaudiatorNames { settings.bundleID = claudiatorBundleID }

    let because = "a value, as other APNS_* settings are there (or none of them for polling-only mode)"
    if keyID == nil { reader.report("APNS_KEY_ID", seen: "not set", expected: because) }
    if teamID == nil { reader.report("APNS_TEAM_ID", seen: "not set", expected: because) }
    if settings.bundleID == nil { reader.report("APNS_BUNDLE_ID", seen: "not set", expected: because) }
    if keyText == nil, keyPath == nil {
      reader.report("APNS_PRIVATE_KEY", seen: "not set, nor APNS_KEY_PATH", expected: because)
    }
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

  /// The origin of `APNS_ENDPOINT_OVERRIDE`; path and query are ignored.
  private static func readOverride(_ reader: inout EnvironmentReader) -> String? {
    guard let value = reader.string("APNS_ENDPOINT_OVERRIDE") else { return nil }
    let scheme = "https://"
    let host = value.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
    guard value.lowercased().hasPrefix(scheme), !host.isEmpty, !host.contains("@") else {
      reader.report("APNS_ENDPOINT_OVERRIDE", seen: "'\(value)'", expected: "https://host[:port]")
      return nil
    }
    return scheme + host
  }
}
