/// Which server answers as Redis, and its own version.
public struct ServerEngine: Sendable, Equatable {
  public enum Kind: String, Sendable {
    case redis = "Redis"
    case valkey = "Valkey"
    case keyDB = "KeyDB"
    case dragonfly = "Dragonfly"
    case elastiCache = "Amazon ElastiCache"
    case upstash = "Upstash"
  }

  public let kind: Kind
  /// For example `8.1.8`. Nil if it does not report one.
  public let version: String?

  init(_ kind: Kind, _ version: String?) {
    self.kind = kind
    self.version = version
  }

  /// Reads the fields of INFO. Servers other than Redis report the version of Redis that they resemble, too.
  init(fields: [String: String]) {
    let compatible = fields["redis_version"]
    let program = fields["executable"]?.split(separator: "/").last ?? ""
    let isKeyDB = program.hasPrefix("keydb") || fields["mvcc_depth"] != nil || fields["role"] == "active-replica"
    if let version = fields["dragonfly_version"] {
      self.init(.dragonfly, version.hasPrefix("df-v") ? String(version.dropFirst(4)) : version)
    } else if isKeyDB {
      self.init(.keyDB, compatible)
    } else if fields["os"] == "Amazon ElastiCache" {
      self.init(.elastiCache, fields["valkey_version"] ?? compatible)
    } else if let version = fields["upstash_version"] {
      self.init(.upstash, version)
    } else if fields["server_name"] == "valkey" || fields["valkey_version"] != nil {
      self.init(.valkey, fields["valkey_version"] ?? compatible)
    } else {
      self.init(.redis, compatible)
    }
  }

  /// `Redis 7.0.15`
  public var summary: String { version.map { "\(kind.rawValue) \($0)" } ?? kind.rawValue }
}
