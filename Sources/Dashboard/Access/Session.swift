import Credentials
import Crypto
import JSON

/// What is stored of a session: one value for a sign-in, which all of its ids share. Times are unix milliseconds.
struct Session: Sendable, Equatable {
  /// The time from the sign-in to the end of a session.
  static let lifetime: Int64 = 12 * 3_600_000
  /// The time after which its id changes again.
  private static let rotation: Int64 = 15 * 60_000
  /// The time for which the earlier id is accepted, for requests that are on their way.
  static let overlap: Int64 = 60_000

  /// What to do with a session that a request names.
  enum Decision: Equatable {
    case use
    /// Use it, and give the browser a new id.
    case rotate
    /// The id is not, or no longer, one of the session.
    case refuse
    case end
  }

  let `operator`: String
  /// The digest of the operator's secret at the sign-in. A secret that was replaced ends the session.
  let digest: String
  let signedInAt: Int64
  private(set) var rotatedAt: Int64
  /// The digest of the id that the browser got last.
  private(set) var current: String
  /// The digest of the id before it; nil before the first rotation.
  private(set) var previous: String?

  init(_ credential: Credential, _ id: SessionID, at now: Int64) {
    `operator` = credential.name
    digest = credential.digest
    signedInAt = now
    rotatedAt = now
    current = id.digest
  }

  /// Returns nil if `bytes` is not a session.
  init?(json bytes: [UInt8]) {
    guard let value = try? JSONValue(parsing: bytes), let name = value["operator"]?.string,
      let digest = value["digest"]?.string, let signedInAt = value["signedInAt"]?.time,
      let rotatedAt = value["rotatedAt"]?.time, let current = value["current"]?.string
    else { return nil }
    `operator` = name
    self.digest = digest
    self.signedInAt = signedInAt
    self.rotatedAt = rotatedAt
    self.current = current
    previous = value["previous"]?.string
  }

  var json: [UInt8] {
    let object: JSONObject = [
      "operator": `operator`, "digest": digest, "signedInAt": signedInAt, "rotatedAt": rotatedAt, "current": current,
      "previous": previous,
    ]
    return object.bytes
  }

  /// Decides about a request with `id`, by the operator's present credential, nil if there is none.
  func decision(_ credential: Credential?, _ id: SessionID, now: Int64) -> Decision {
    guard let credential, credential.isEnabled, credential.digest == digest else { return .end }
    guard now >= signedInAt - Session.overlap, now - signedInAt < Session.lifetime else { return .end }
    if Session.areEqual(id.digest, current) { return now - rotatedAt >= Session.rotation ? .rotate : .use }
    guard let previous, Session.areEqual(id.digest, previous) else { return .refuse }
    return now - rotatedAt < Session.overlap ? .use : .refuse
  }

  /// Returns the session with another id.
  func rotated(to id: SessionID, at now: Int64) -> Session {
    var session = self
    session.previous = current
    session.current = id.digest
    session.rotatedAt = now
    return session
  }

  /// The time that is left of it.
  func left(at now: Int64) -> Int64 { max(1, signedInAt + Session.lifetime - now) }

  private static func areEqual(_ one: String, _ other: String) -> Bool {
    Secret.areEqual(Array(one.utf8), Array(other.utf8))
  }
}
