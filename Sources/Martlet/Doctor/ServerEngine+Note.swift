import Redis

extension ServerEngine {
  /// What the operator should know of a server that is not tested with Martlet; nil for those that are.
  var note: String? {
    switch kind {
    case .redis, .valkey: nil
    case .keyDB, .dragonfly, .elastiCache, .upstash: "not tested with Martlet: docs/redis.md says what is known"
    }
  }
}
