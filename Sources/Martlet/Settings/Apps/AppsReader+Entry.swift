import APNs
import JSON
import PushModel

/// One entry of the file.
extension AppsReader {
  private static let members = [
    "bundleIds", "teamId", "keys", "environment", "endpoint", "caCert", "connections", "share",
  ]
  /// Bundle ids of one app.
  private static let bundleIDCount = 1...1000
  private static let identifier = "10 letters and digits"

  /// Returns the app of an entry; nil if it has a fault.
  mutating func app(_ value: JSONValue, _ place: String, index: Int) -> APNsApp? {
    let faultsBefore = faultCount
    guard let entry = object(value, place, members: AppsReader.members) else { return nil }
    _ = require(entry, "bundleIds", "teamId", "keys")
    let bundleIDs = readBundleIDs(entry)
    let team = text(entry, "teamId", expected: AppsReader.identifier, where: APNsConfiguration.isIdentifier)
    let keys = readKeys(entry, team: team)
    let environment = text(entry, "environment", expected: "production or sandbox") {
      PushEnvironment(rawValue: $0) != nil
    }.flatMap(PushEnvironment.init)
    let gateway = readGateway(entry)
    let connections = integer(entry, "connections", in: APNsConfiguration.connectionRange, default: 1)
    let share = integer(entry, "share", in: APNsApp.shareRange, default: 1)
    guard faultCount == faultsBefore else { return nil }
    do throws(APNsError) {
      return APNsApp(
        bundleIDs: bundleIDs,
        configuration: try APNsConfiguration(
          keys: keys, gateway: gateway, defaultEnvironment: environment ?? defaultEnvironment,
          connectionsPerEnvironment: connections),
        environment: environment, share: share)
    } catch {
      report(place, seen: "\(error)", expected: "a .p8 key of the team with its key id")
      return nil
    }
  }

  private mutating func readBundleIDs(_ entry: AppsObject) -> [String] {
    let elements = list(entry, "bundleIds", count: AppsReader.bundleIDCount)
    var bundleIDs: [String] = []
    for (value, place) in elements {
      let rule = "1 to 200 letters, digits or any of ._-"
      guard let bundleID = text(value, place, expected: rule, where: BundleID.isWellFormed) else { continue }
      bundleIDs.append(bundleID)
      let app = (place: entry.place, name: bundleIDs[0])
      if let fault = register.add(bundleID: bundleID, of: app, at: place) { report(fault) }
    }
    return bundleIDs
  }

  private mutating func readKeys(_ entry: AppsObject, team: String?) -> [APNsConfiguration.Credentials] {
    var keys: [APNsConfiguration.Credentials] = []
    for (value, place) in list(entry, "keys", count: APNsConfiguration.keyRange) {
      guard let key = readKey(value, place, team: team) else { continue }
      if keys.contains(where: { $0.keyID == key.keyID }) {
        report("\(place).keyId", seen: "\(key.keyID) for the second time", expected: "two different keys")
      }
      keys.append(key)
    }
    return keys
  }

  private mutating func readKey(
    _ value: JSONValue, _ place: String, team: String?
  ) -> APNsConfiguration.Credentials? {
    guard let key = object(value, place, members: ["keyId", "path"]), require(key, "keyId", "path") else { return nil }
    let id = text(key, "keyId", expected: AppsReader.identifier, where: APNsConfiguration.isIdentifier)
    let path = readPath(key, "path", expected: "the path of the .p8 file of the key, relative to this file")
    guard let path else { return nil }
    do throws(AppsKeyFiles.Fault) {
      let text = try files.key(path)
      guard let id, let team else { return nil }
      let credentials = APNsConfiguration.Credentials(keyID: id, teamID: team, privateKeyPEM: text)
      if let fault = register.add(.init(id: id, team: team, place: place, text: text)) { report(fault) }
      try check(credentials, path)
      return credentials
    } catch {
      report("\(place).path", seen: error.seen, expected: error.expected)
      return nil
    }
  }

  private func check(_ key: APNsConfiguration.Credentials, _ path: String) throws(AppsKeyFiles.Fault) {
    do throws(APNsError) {
      try APNsConfiguration.check(key)
    } catch {
      throw AppsKeyFiles.Fault(
        seen: "the file \(SettingQuote.text(path, as: .path)): \(error)", expected: "the .p8 file of the key")
    }
  }

  private mutating func readGateway(_ entry: AppsObject) -> APNsConfiguration.Gateway {
    let endpoint = text(
      entry, "endpoint", as: .url, expected: "https://host[:port]", where: APNsConfiguration.isGatewayURL)
    var gateway = APNsConfiguration.Gateway(endpointOverride: endpoint)
    guard let path = readPath(entry, "caCert", expected: "the path of a PEM file, relative to this file") else {
      return gateway
    }
    do throws(AppsKeyFiles.Fault) {
      gateway.authorities = try files.authorities(path)
    } catch {
      report(entry.place("caCert"), seen: error.seen, expected: error.expected)
    }
    return gateway
  }

  private mutating func readPath(_ object: AppsObject, _ name: String, expected: String) -> String? {
    text(object, name, as: .path, expected: expected) { path in
      !path.isEmpty && path.utf8.count <= 4096 && !path.utf8.contains { $0 < 0x20 }
    }
  }
}
