import Credentials
import JSON

/// What is stored of a session. Times are unix milliseconds.
struct Session: Sendable, Equatable {
  /// A session ends so long after the sign-in.
  static let lifetime: Int64 = 12 * 3_600_000
  /// Its id changes so long after the last change.
  private static let rotation: Int64 = 15 * 60_000
  /// The earlier id is accepted so long, for requests that are on their way.
  static let overlap: Int64 = 60_000

  /// What to do with a session that a request names.
  enum Decision: Equatable {
    case use
    /// Use it, and give the browser a new id.
    case rotate
    case end
  }

  let `operator`: String
  /// The digest of the operator's secret at the sign-in. A secret that was replaced ends the session.
  let digest: String
  let signedInAt: Int64
  var rotatedAt: Int64
  /// Whether the browser has got another id.
  var isReplaced = false

  init(_ credential: Credential, at now: Int64) {
    `operator` = credential.name
    digest = credential.digest
    signedInAt = now
    rotatedAt = now
  }

  /// Returns nil if `bytes` is not a session.
  init?(json bytes: [UInt8]) {
    guard let value = try? JSONValue(parsing: bytes), let name = value["operator"]?.string,
      let digest = value["digest"]?.string, let signedInAt = value["signedInAt"]?.integer,
      let rotatedAt = value["rotatedAt"]?.integer
    else { return nil }
    `operator` = name
    self.digest = digest
    self.signedInAt = signedInAt
    self.rotatedAt = rotatedAt
    isReplaced = value["replaced"]?.bool ?? false
  }

  var json: [UInt8] {
    JSONValue.object([
      JSONMember(key: "operator", value: .string(`operator`)), JSONMember(key: "digest", value: .string(digest)),
      JSONMember(key: "signedInAt", value: .integer(signedInAt)),
      JSONMember(key: "rotatedAt", value: .integer(rotatedAt)),
      JSONMember(key: "replaced", value: .bool(isReplaced)),
    ]).bytes
  }

  /// Decides about the session by the operator's present credential, nil if there is none.
  func decision(_ credential: Credential?, now: Int64) -> Decision {
    guard let credential, credential.isEnabled, credential.digest == digest else { return .end }
    guard now >= signedInAt - Session.overlap, now - signedInAt < Session.lifetime else { return .end }
    return !isReplaced && now - rotatedAt >= Session.rotation ? .rotate : .use
  }

  /// The time that is left of it.
  func left(at now: Int64) -> Int64 { max(1, signedInAt + Session.lifetime - now) }
}
