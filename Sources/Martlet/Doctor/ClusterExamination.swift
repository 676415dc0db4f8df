import Operations
import Program
import Redis

/// Checks that each slot of a cluster has a server, and each server a replica.
enum ClusterExamination {
  static func findings(_ overview: ClusterOverview) -> [Finding] {
    let check = "redis cluster"
    guard overview.uncovered.isEmpty else {
      let ranges = overview.uncovered.prefix(4).map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ", ")
      return [
        Finding(
          check, .problem, "no server has the slots \(ranges): their keys cannot be reached",
          fix: "look with redis-cli --cluster check, then use --cluster fix")
      ]
    }
    let count = overview.primaries.count
    guard overview.withoutReplica.isEmpty else {
      return [
        Finding(
          check, .warning,
          "\(overview.withoutReplica.count) of \(count) primaries have no replica: \(overview.withoutReplica.prefix(4).joined(separator: ", "))",
          fix:
            "add a replica to each (redis-cli --cluster add-node --cluster-slave); without one, its keys are lost with it"
        )
      ]
    }
    return [Finding(check, .ok, "\(count) primaries have all slots, each with a replica")]
  }
}
