package import APNs
package import JSON
package import PushModel

/// Reads the entries of the file of the apps.
package struct AppsReader {
  private static let members = [
    "bundleIds", "teamId", "keys", "environment", "endpoint", "sandboxEndpoint", "broadcastEndpoint",
    "channelsEndpoint", "caCert", "connections", "share",
  ]
  /// Bundle ids of one app.
  private static let bundleIDCount = 1...1000
  private static let identifier = "10 letters and digits"

  package var register = AppsRegister()
  package var fields = JSONFieldReader(advice: AppsKeyFiles.advice)
  private var files: AppsKeyFiles
  private let defaultEnvironment: PushEnvironment

  package init(files: AppsKeyFiles, defaultEnvironment: PushEnvironment) {
    self.files = files
    self.defaultEnvironment = defaultEnvironment
  }

  /// Returns the app of an entry; nil if it has a fault.
  package mutating func app(_ value: JSONValue, _ place: String) -> APNsApp? {
    let faultsBefore = fields.faultCount
    guard let entry = fields.object(value, place, names: AppsReader.members) else { return nil }
    fields.require(entry, "bundleIds", "teamId", "keys")
    let bundleIDs = readBundleIDs(entry)
    let team = fields.text(entry, "teamId", expected: AppsReader.identifier, where: APNsConfiguration.isIdentifier)
    let keys = readKeys(entry, team: team, bundleIDs)
    let environment = fields.environment(entry)
    let gateway = readGateway(entry)
    let connections = fields.integer(entry, "connections", in: APNsConfiguration.connectionRange) ?? 1
    let share = fields.integer(entry, "share", in: APNsApp.shareRange) ?? 1
    guard fields.faultCount == faultsBefore else { return nil }
    do throws(APNsError) {
      return try APNsApp(
        bundleIDs: bundleIDs, keys: keys, gateway: gateway, defaultEnvironment: environment ?? defaultEnvironment,
        environment: environment, connections: connections, share: share)
    } catch {
      fields.report(place, seen: "\(error)", expected: "a .p8 key of the team with its key id")
      return nil
    }
  }

  private mutating func readBundleIDs(_ entry: JSONFields) -> [String] {
    var bundleIDs: [String] = []
    for element in fields.list(entry, "bundleIds", count: AppsReader.bundleIDCount) {
      let rule = Charset.bundleID.description
      guard let bundleID = fields.text(element, expected: rule, where: BundleID.isWellFormed) else { continue }
      bundleIDs.append(bundleID)
      let app = (place: entry.place, name: bundleIDs[0])
      if let fault = register.add(bundleID: bundleID, of: app, at: element.place) { fields.report(fault) }
    }
    return bundleIDs
  }

  private mutating func readKeys(_ entry: JSONFields, team: String?, _ bundleIDs: [String]) -> [AppKey] {
    let faultsBefore = fields.faultCount
    var keys: [AppKey] = []
    for (value, place) in fields.list(entry, "keys", count: APNsConfiguration.keyRange) {
      guard let key = readKey(value, place, team: team, bundleIDs) else { continue }
      if keys.contains(where: { $0.credentials.keyID == key.credentials.keyID }) {
        fields.report(
          "\(place).keyId", seen: "\(key.credentials.keyID) for the second time", expected: "different keys")
      }
      keys.append(key)
    }
    guard fields.faultCount == faultsBefore, !keys.isEmpty else { return keys }
    let signed = Set(keys.flatMap { $0.topics ?? bundleIDs })
    for bundleID in bundleIDs where !signed.contains(bundleID) {
      fields.report(
        entry.place("keys"), seen: "no key may sign for \(bundleID)",
        expected: "its bundle id in the topics of a key, or a key without topics")
    }
    return keys
  }

  private mutating func readKey(
    _ value: JSONValue, _ place: String, team: String?, _ bundleIDs: [String]
  ) -> AppKey? {
    guard let key = fields.object(value, place, names: ["keyId", "path", "environment", "topics"]),
      fields.require(key, "keyId", "path")
    else { return nil }
    let id = fields.text(key, "keyId", expected: AppsReader.identifier, where: APNsConfiguration.isIdentifier)
    let environment = fields.environment(key)
    let topics = readTopics(key, bundleIDs)
    let path = readPath(key, "path", expected: "the path of the .p8 file of the key, relative to this file")
    guard let path else { return nil }
    do throws(InvalidValue) {
      let text = try files.key(path)
      guard let id, let team else { return nil }
      let credentials = APNsConfiguration.Credentials(keyID: id, teamID: team, privateKeyPEM: text)
      if let fault = register.add(.init(id: id, team: team, place: place, text: text)) { fields.report(fault) }
      try check(credentials, path)
      return AppKey(credentials, environment: environment, topics: topics)
    } catch {
      fields.report("\(place).path", seen: error.seen, expected: error.expected)
      return nil
    }
  }

  /// Nil if the key may sign for all bundle ids of the app.
  private mutating func readTopics(_ key: JSONFields, _ bundleIDs: [String]) -> [String]? {
    guard key["topics"] != nil else { return nil }
    return fields.list(key, "topics", count: AppsReader.bundleIDCount).compactMap {
      fields.text($0, expected: "a bundle id of this app", where: bundleIDs.contains)
    }
  }

  private func check(_ key: APNsConfiguration.Credentials, _ path: String) throws(InvalidValue) {
    do throws(APNsError) {
      try APNsConfiguration.check(key)
    } catch {
      throw InvalidValue(
        seen: "the file \(ValueQuote.text(path, as: .path)): \(error)", expected: "the .p8 file of the key")
    }
  }

  private mutating func readGateway(_ entry: JSONFields) -> APNsConfiguration.Gateway {
    let names = ["endpoint", "sandboxEndpoint", "broadcastEndpoint", "channelsEndpoint"]
    let endpoints = names.map { name in
      fields.text(entry, name, as: .url, expected: "https://host[:port]", where: APNsConfiguration.isGatewayURL)
    }
    var gateway = APNsConfiguration.Gateway(endpointOverride: endpoints[0], sandboxOverride: endpoints[1])
    (gateway.broadcastOverride, gateway.channelsOverride) = (endpoints[2], endpoints[3])
    guard let path = readPath(entry, "caCert", expected: "the path of a PEM file, relative to this file") else {
      return gateway
    }
    do throws(InvalidValue) {
      gateway.authorities = try files.authorities(path)
    } catch {
      fields.report(entry.place("caCert"), seen: error.seen, expected: error.expected)
    }
    return gateway
  }

  private mutating func readPath(_ object: JSONFields, _ name: String, expected: String) -> String? {
    fields.text(object, name, as: .path, expected: expected) { path in
      !path.isEmpty && path.utf8.count <= 4096 && !path.utf8.contains { $0 < 0x20 }
    }
  }
}

extension JSONFieldReader {
  package mutating func environment(_ object: JSONFields) -> PushEnvironment? {
    text(object, "environment", expected: "production or sandbox") { PushEnvironment(named: $0) != nil }
      .flatMap(PushEnvironment.init(named:))
  }
}
