import TestSupport
/// The faults of a run, which follow from its seed and their number.
struct Plan: Equatable, Sendable {
  /// The worker whose clock jumps. Only this one runs under libfaketime.
  static let clockWorker = 0

  let seed: UInt64
  let layout: RedisLayout
  let steps: [Step]

  /// Every kind occurs once before any occurs twice. `kinds` is nil for all kinds of the layout.
  init(seed: UInt64, faults: Int, workers: Int, layout: RedisLayout = .sentinels, kinds: [FaultKind]? = nil) {
    let kinds = kinds ?? layout.kinds
    precondition(workers > 0 && !kinds.isEmpty)
    self.seed = seed
    self.layout = layout
    var generator = SeededGenerator(seed: seed)
    var bag: [FaultKind] = []
    steps = (1...max(1, faults)).map { number in
      if bag.isEmpty { bag = kinds.shuffled(using: &generator) }
      return Plan.step(number, bag.removeLast(), workers: workers, layout, using: &generator)
    }
  }

  /// Whether devices of both environments are among the population.
  var hasBothEnvironments: Bool { steps.contains { $0.kind == .environmentChanged } }

  private static func step(
    _ number: Int, _ kind: FaultKind, workers: Int, _ layout: RedisLayout, using generator: inout SeededGenerator
  ) -> Step {
    return Step(
      number: number, kind: kind, worker: worker(kind, of: workers, using: &generator),
      milliseconds: Int.random(in: kind.milliseconds, using: &generator), amount: kind.amount(using: &generator),
      isProcessed: Bool.random(using: &generator), gap: Int.random(in: gap, using: &generator),
      shard: layout.shards.map { Int.random(in: 0..<$0, using: &generator) })
  }

  private static func worker(_ kind: FaultKind, of count: Int, using generator: inout SeededGenerator) -> Int {
    switch kind.target {
    case _ where kind == .clockJump: clockWorker
    // The last worker finds Redis through sentinels, without a proxy.
    case .workersRedis: Int.random(in: 0..<max(1, count - 1), using: &generator)
    default: Int.random(in: 0..<count, using: &generator)
    }
  }

  /// Jobs between two steps.
  private static let gap = 20...150
}
