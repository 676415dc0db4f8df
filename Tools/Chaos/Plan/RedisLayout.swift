/// What the Redis of a run consists of.
enum RedisLayout: Sendable {
  /// A master and its replica, with sentinels.
  case sentinels
  /// Primaries with a replica each.
  case cluster

  /// The faults that it can have, as `--only` names them.
  var allKinds: [FaultKind] { kinds + FaultKind.onlyByName }

  /// The faults of a run unless others are named.
  var kinds: [FaultKind] {
    switch self {
    case .sentinels: FaultKind.ofSentinels
    case .cluster: FaultKind.ofCluster
    }
  }

  /// The number of primaries of a cluster; nil without one.
  var shards: Int? {
    switch self {
    case .sentinels: nil
    case .cluster: 3
    }
  }
}
