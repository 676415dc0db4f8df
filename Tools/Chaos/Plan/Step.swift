/// One fault of a plan.
struct Step: Equatable, Sendable {
  /// 1 is the first.
  let number: Int
  let kind: FaultKind
  /// The worker that it concerns, or whose connections; meaningless for other targets.
  let worker: Int
  let milliseconds: Int
  /// See ``FaultKind/amount(using:)``.
  let amount: Int
  /// Whether APNs has processed the pushes that it does not answer.
  let isProcessed: Bool
  /// The number of jobs that are enqueued between the step before and this one.
  let gap: Int
  /// The shard of a cluster that it concerns, or that slots move to; nil without a cluster.
  let shard: Int?
}

extension Step: CustomStringConvertible {
  var description: String {
    let target =
      switch kind.target {
      case .worker, .workersRedis, .workersAPNs: ", worker \(worker)"
      case .redis: shard.map { ", shard \($0)" } ?? ""
      case .gateway, .devices: ""
      }
    return
      "\(number). \(kind.rawValue)\(target), \(milliseconds) ms, amount \(amount)\(isProcessed ? ", processed" : "")"
  }
}
