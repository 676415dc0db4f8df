import APNs
import JSON
import PushModel

/// One entry of the file.
extension AppsReader {
  private static let members = [
    "bundleIds", "teamId", "keys", "environment", "endpoint", "sandboxEndpoint", "broadcastEndpoint",
    "channelsEndpoint", "caCert", "connections", "share",
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
    let keys = readKeys(entry, team: team, bundleIDs)
    let environment = readEnvironment(entry)
    let gateway = readGateway(entry)
    let connections = integer(entry, "connections", in: APNsConfiguration.connectionRange, default: 1)
    let share = integer(entry, "share", in: APNsApp.shareRange, default: 1)
    guard faultCount == faultsBefore else { return nil }
    do throws(APNsError) {
      return try APNsApp(
        bundleIDs: bundleIDs, keys: keys, gateway: gateway, defaultEnvironment: environment ?? defaultEnvironment,
        environment: environment, connections: connections, share: share)
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

  private mutating func readEnvironment(_ object: AppsObject) -> PushEnvironment? {
    text(object, "environment", expected: "production or sandbox") { PushEnvironment(named: $0) != nil }
      .flatMap(PushEnvironment.init(named:))
  }

  private mutating func readKeys(_ entry: AppsObject, team: String?, _ bundleIDs: [String]) -> [AppKey] {
    let faultsBefore = faultCount
    var keys: [AppKey] = []
    for (value, place) in list(entry, "keys", count: APNsConfiguration.keyRange) {
      guard let key = readKey(value, place, team: team, bundleIDs) else { continue }
      if keys.contains(where: { $0.credentials.keyID == key.credentials.keyID }) {
        report("\(place).keyId", seen: "\(key.credentials.keyID) for the second time", expected: "different keys")
      }
      keys.append(key)
    }
    guard faultCount == faultsBefore, !keys.isEmpty else { return keys }
    let signed = Set(keys.flatMap { $0.topics ?? bundleIDs })
    for bundleID in bundleIDs where !signed.contains(bundleID) {
      report(
        entry.place("keys"), seen: "no key may sign for \(bundleID)",
        expected: "its bundle id in the topics of a key, or a key without topics")
    }
    return keys
  }

  private mutating func readKey(
    _ value: JSONValue, _ place: String, team: String?, _ bundleIDs: [String]
  ) -> AppKey? {
    guard let key = object(value, place, members: ["keyId", "path", "environment", "topics"]),
      require(key, "keyId", "path")
    else { return nil }
    let id = text(key, "keyId", expected: AppsReader.identifier, where: APNsConfiguration.isIdentifier)
    let environment = readEnvironment(key)
    let topics = readTopics(key, bundleIDs)
    let path = readPath(key, "path", expected: "the path of the .p8 file of the key, relative to this file")
    guard let path else { return nil }
    do throws(AppsKeyFiles.Fault) {
      let text = try files.key(path)
      guard let id, let team else { return nil }
      let credentials = APNsConfiguration.Credentials(keyID: id, teamID: team, privateKeyPEM: text)
      if let fault = register.add(.init(id: id, team: team, place: place, text: text)) { report(fault) }
      try check(credentials, path)
      return AppKey(credentials, environment: environment, topics: topics)
    } catch {
      report("\(place).path", seen: error.seen, expected: error.expected)
      return nil
    }
  }

  /// Nil if the key may sign for all bundle ids of the app.
  private mutating func readTopics(_ key: AppsObject, _ bundleIDs: [String]) -> [String]? {
    guard key["topics"] != nil else { return nil }
    return list(key, "topics", count: AppsReader.bundleIDCount).compactMap { value, place in
      text(value, place, expected: "a bundle id of this app") { bundleIDs.contains($0) }
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
    let names = ["endpoint", "sandboxEndpoint", "broadcastEndpoint", "channelsEndpoint"]
    let endpoints = names.map { name in
      text(entry, name, as: .url, expected: "https://host[:port]", where: APNsConfiguration.isGatewayURL)
    }
    var gateway = APNsConfiguration.Gateway(endpointOverride: endpoints[0], sandboxOverride: endpoints[1])
    (gateway.broadcastOverride, gateway.channelsOverride) = (endpoints[2], endpoints[3])
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
