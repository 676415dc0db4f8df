import Crypto
package import JSON

/// What the apps of a file have in common: each bundle id belongs to one app, each key to one team.
package struct AppsRegister {
  /// A key as an entry names it.
  package struct Key {
    package let id: String
    package let team: String
    /// `apps[2].keys[0]`
    package let place: String
    /// The text of its file.
    package let text: String
  }

  private struct Owner {
    let keyID: String
    let team: String
    let place: String
    /// SHA-256 of the key's file; nil if the file is not known.
    var digest: [UInt8]?
  }

  private var apps: [String: (place: String, name: String)] = [:]
  private var byID: [String: Owner] = [:]
  private var byDigest: [[UInt8]: Owner] = [:]

  /// Adds the key of the `APNS_*` settings.
  package mutating func addOwnKey(_ id: String, team: String) {
    byID[id] = Owner(keyID: id, team: team, place: "APNS_KEY_ID")
  }

  /// Adds a bundle id. Returns the fault if an app has it already.
  package mutating func add(bundleID: String, of app: (place: String, name: String), at place: String) -> InvalidValue?
  {
    guard let other = apps[bundleID] else {
      apps[bundleID] = app
      return nil
    }
    let owner = other.place == app.place ? "this app" : "\(other.place) (\(other.name))"
    return InvalidValue(
      place: place, seen: "\"\(bundleID)\", which \(owner) has already", expected: "each bundle id once")
  }

  /// Adds a key. Returns the fault if it contradicts another entry: the keys of two teams are mixed up, or the files of two
  /// keys are.
  package mutating func add(_ key: Key) -> InvalidValue? {
    let digest = SHA256.digest(Array(key.text.utf8.filter { $0 > 0x20 }))
    if let other = byID[key.id] {
      guard other.team == key.team else {
        return InvalidValue(
          place: "\(key.place).keyId",
          seen: "key \(key.id) of team \(key.team), which is a key of team \(other.team) in \(other.place)",
          expected: "one team for each key: the keys of two teams are mixed up")
      }
      guard other.digest == nil || other.digest == digest else {
        return InvalidValue(
          place: "\(key.place).path", seen: "another key than that of \(key.id) in \(other.place)",
          expected: "one .p8 file for each key id")
      }
    }
    if let other = byDigest[digest], other.keyID != key.id {
      return InvalidValue(
        place: "\(key.place).path",
        seen: "the file of key \(other.keyID) of team \(other.team) in \(other.place), here for key \(key.id)",
        expected: "the .p8 file of key \(key.id): the files of two keys are mixed up")
    }
    let owner = Owner(keyID: key.id, team: key.team, place: key.place, digest: digest)
    if byID[key.id]?.digest == nil { byID[key.id] = owner }
    byDigest[digest] = byDigest[digest] ?? owner
    return nil
  }
}
