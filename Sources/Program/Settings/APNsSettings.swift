package import APNs
import HTTPClient
import JSON
package import PushModel

/// The settings of the provider key and the gateway, with the names that other servers have for them.
package struct APNsSettings {
  /// Nil if nothing is set (polling-only mode), if a setting is invalid, or if parts are ``missing``.
  package var configuration: APNsConfiguration?
  package var bundleID: String?
  package var defaultEnvironment = PushEnvironment.production
  /// The names of settings that a complete configuration needs.
  package var missing: [String] = []

  private static let claudiatorPrefix = "CLAUDIATOR_"
  private static let claudiatorBundleID = "com.claudiator.app"
  /// The key file of the push server in the working directory.
  private static let pushServerKeyPath = "apns_push_key.p8"

  /// Returns the setting that `alias` is another name of.
  package static func name(of alias: String) -> String? {
    Setting.core.first { $0.aliases.contains(alias) }?.name
  }

  /// Whether the key is in a file.
  package static func namesFile(_ reader: EnvironmentReader) -> Bool {
    var reader = reader
    let key = Key(&reader)
    return !key.hasText && key.path != nil
  }

  private typealias Named = (name: String, value: String)

  /// The settings of the provider key.
  private struct Key {
    var id: Named?
    var team: Named?
    var path: Named?
    var hasText: Bool

    init(_ reader: inout EnvironmentReader) {
      id = reader.named(.keyID)
      team = reader.named(.teamID)
      hasText = reader.text(.privateKey) != nil
      path = reader.named(.keyPath)
      if isOfPushServer, path == nil, !hasText { path = (pushServerKeyPath, pushServerKeyPath) }
    }

    /// With the names of the push server no bundle id is required, because each of its tokens names its app.
    var isOfPushServer: Bool { id?.name == "keyId" && team?.name == "teamId" }

    func text(_ reader: inout EnvironmentReader) -> String? {
      if hasText { return reader.pem(.privateKey) }
      return path.flatMap { reader.file($0.name, path: $0.value) }
    }
  }

  /// Reads the settings and reports faults. Incomplete settings are a fault unless `isPartAllowed`.
  package static func read(_ reader: inout EnvironmentReader, isPartAllowed: Bool = false) -> APNsSettings {
    var settings = APNsSettings()
    let key = Key(&reader)
    let bundleID = reader.named(.bundleID)
    settings.bundleID = reader.value(.bundleID, expected: Charset.bundleID.description) {
      BundleID.isWellFormed($0) ? $0 : nil
    }
    if reader.boolean(.sandbox) { settings.defaultEnvironment = .sandbox }
    let connections = reader.integer(.connections)
    var gateway = readGateway(&reader)
    let maximum = reader.integer(.maximumConnections)
    let isSet = reader.string(Setting.maximumConnections.name) != nil
    gateway.maximumConnections = isSet ? maximum : max(maximum, connections)
    let sandbox = reader.named(.sandbox)
    let named = [key.id, key.team, key.path, bundleID, sandbox].compactMap { $0?.name }
    let isOfClaudiator = named.contains { $0.hasPrefix(claudiatorPrefix) }
    if bundleID == nil, isOfClaudiator { settings.bundleID = claudiatorBundleID }
    let parts = [
      ("APNS_KEY_ID", key.id != nil), ("APNS_TEAM_ID", key.team != nil),
      ("APNS_BUNDLE_ID", bundleID != nil || settings.bundleID != nil || key.isOfPushServer),
      ("APNS_PRIVATE_KEY", key.hasText || key.path != nil),
    ]
    settings.missing = parts.filter { !$0.1 }.map(\.0)
    // The bundle id that has a default, or the sandbox, configures nothing alone.
    let isAppAlone =
      isOfClaudiator && bundleID?.name != "APNS_BUNDLE_ID" && settings.missing.count == parts.count - 1
    if settings.missing.count == parts.count || isAppAlone { return settings }
    if !isPartAllowed { settings.reportMissing(&reader, besides: named) }
    let keyID = readIdentifier(.keyID, &reader)
    let teamID = readIdentifier(.teamID, &reader)
    let pem = key.text(&reader)
    guard settings.missing.isEmpty, let keyID, let teamID, let pem else { return settings }
    do {
      settings.configuration = try APNsConfiguration(
        keys: [.init(keyID: keyID, teamID: teamID, privateKeyPEM: pem)],
        gateway: gateway, defaultEnvironment: settings.defaultEnvironment, connectionsPerEnvironment: connections)
    } catch {
      reader.report(
        key.hasText ? "APNS_PRIVATE_KEY" : key.path?.name ?? "APNS_KEY_PATH", seen: "\(error)",
        expected: "the .p8 key of the developer account with its key id and team id")
    }
    return settings
  }

  /// Names what is missing as the settings that are set are named.
  private func reportMissing(_ reader: inout EnvironmentReader, besides set: [String]) {
    let isOfClaudiator = set.contains { $0.hasPrefix(APNsSettings.claudiatorPrefix) }
    let isOfPushServer = set.contains("keyId") || set.contains("teamId")
    for name in missing {
      let isKey = name == "APNS_PRIVATE_KEY"
      let asked = isKey && isOfClaudiator ? Setting.keyPath.name : name
      let alias = Setting.core.first { $0.name == asked }?.aliases.first { alias in
        alias.hasPrefix(APNsSettings.claudiatorPrefix) ? isOfClaudiator : isOfPushServer
      }
      reader.report(
        alias ?? name, seen: isKey && alias == nil ? "not set, and neither is APNS_KEY_PATH" : "not set",
        expected: "a value, because other APNS_* settings are set (set none of them for polling-only mode)")
    }
  }

  package static func readGateway(_ reader: inout EnvironmentReader) -> APNsConfiguration.Gateway {
    var gateway = APNsConfiguration.Gateway(
      endpointOverride: readOverride(.gateway, &reader),
      sandboxOverride: readOverride(.sandboxGateway, &reader),
      authorities: readAuthorities(&reader))
    gateway.broadcastOverride = readOverride(.broadcastGateway, &reader)
    gateway.channelsOverride = readOverride(.channelsGateway, &reader)
    return gateway
  }

  /// Reads the certificates that are trusted in addition to the system's.
  private static func readAuthorities(_ reader: inout EnvironmentReader) -> TrustedCertificates? {
    guard let text = reader.pem(.gatewayAuthorities) else { return nil }
    do {
      return try TrustedCertificates(pem: text)
    } catch {
      reader.report("APNS_CA_CERT", seen: "\(error)", expected: "PEM text or a file of one or more certificates")
      return nil
    }
  }

  /// Reads the origin of a gateway. Path and query are ignored.
  private static func readOverride(_ setting: Setting, _ reader: inout EnvironmentReader) -> String? {
    reader.value(setting, expected: "https://host[:port]") { value in
      let scheme = "https://"
      let host = value.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
      let isValid =
        value.lowercased().hasPrefix(scheme) && !host.isEmpty && APNsConfiguration.isOrigin(scheme + host)
      return isValid ? scheme + host : nil
    }
  }

  /// Reads a key id or a team id.
  private static func readIdentifier(_ setting: Setting, _ reader: inout EnvironmentReader) -> String? {
    reader.value(setting, expected: "10 letters and digits") {
      APNsConfiguration.isIdentifier($0) ? $0 : nil
    }
  }
}
