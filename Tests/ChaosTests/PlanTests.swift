import Testing
import TestSupport

@testable import Chaos

struct PlanTests {
  @Test func `the same seed gives the same plan, another seed another`() {
    let plan = Plan(seed: 7, faults: 200, workers: 4)
    #expect(plan == Plan(seed: 7, faults: 200, workers: 4))
    #expect(plan.steps.count == 200)
    #expect(plan.steps != Plan(seed: 8, faults: 200, workers: 4).steps)
  }

  @Test func `every kind occurs before any occurs again`() {
    for layout in [RedisLayout.sentinels, .cluster] {
      let count = layout.kinds.count
      let steps = Plan(seed: 1, faults: 3 * count, workers: 4, layout: layout).steps
      for round in 0..<3 {
        #expect(Set(steps[(round * count)..<((round + 1) * count)].map(\.kind)).count == count)
      }
    }
  }

  @Test func `a fault concerns a worker that has what it concerns`() {
    for step in Plan(seed: 3, faults: 500, workers: 3).steps {
      #expect((0..<3).contains(step.worker))
      if step.kind == .clockJump { #expect(step.worker == Plan.clockWorker) }
      if step.kind.target == .workersRedis { #expect(step.worker != 2) }
      #expect(step.kind.milliseconds.contains(step.milliseconds))
    }
  }

  @Test func `a seed that was published still gives the faults that it gave`() {
    let steps = Plan(seed: 7, faults: 300, workers: 4).steps
    #expect(steps[0].description == "1. APNs closes the connection, 0 ms, amount 2")
    #expect(steps[2].description == "3. APNs 429, 0 ms, amount 9, processed")
    #expect(steps[299].description == "300. APNs closes the connection, 0 ms, amount 4")
    #expect(steps[299].gap == 30)
  }

  @Test func `a run with sentinels has no fault of a cluster, and a run on a cluster none of sentinels or proxies`() {
    let ofCluster: [FaultKind] = [.primaryFailover, .plannedFailover, .queueMoved, .devicesMoved]
    #expect(Set(FaultKind.ofSentinels).isDisjoint(with: ofCluster))
    #expect(Set(FaultKind.ofCluster).isSuperset(of: ofCluster))
    for kind in FaultKind.ofCluster {
      #expect(kind != .redisFailover)
      #expect(kind.target != .workersRedis)
    }
    #expect(Plan(seed: 3, faults: 500, workers: 4).steps.allSatisfy { $0.shard == nil })
  }

  @Test func `the faults of a cluster concern all of its shards`() {
    let steps = Plan(seed: 3, faults: 500, workers: 4, layout: .cluster).steps
    for kind in FaultKind.ofCluster where kind.target == .redis {
      #expect(Set(steps.filter { $0.kind == kind }.map(\.shard)) == [0, 1, 2])
    }
  }

  @Test func `the short run on a cluster has every fault of workers and of Redis`() {
    let kinds = Set(Plan(seed: 414, faults: 20, workers: 4, layout: .cluster).steps.map(\.kind))
    #expect(kinds.isSuperset(of: FaultKind.ofCluster.filter { [.worker, .redis].contains($0.target) }))
  }

  @Test func `the slots that move belong to users, devices, journals and the audience`() {
    let keys = Population().keys
    #expect(Set(keys).count == keys.count)
    for key in [
      "push:user:\(HardNames.users(1)[0]):tokens", "push:token:\(Population.token(.moving, 9))",
      "martlet:{registry:15}:journal", "push:user:bob2:tokens",
      "push:app:\(Population.broadcastApp):tokens:15",
    ] { #expect(keys.contains(key)) }
  }

  @Test func `devices of both environments are there when their fault is asked for`() throws {
    #expect(!Plan(seed: 3, faults: 200, workers: 4).hasBothEnvironments)
    for words in [["--only", "environmentChanged"], ["--only", "drop,environmentChanged", "--cluster"]] {
      let arguments = try Arguments(parsing: words)
      let plan = Plan(seed: 3, faults: 20, workers: 4, layout: arguments.layout, kinds: arguments.kinds)
      #expect(plan.hasBothEnvironments)
      #expect(plan.steps.allSatisfy { $0.kind != .environmentChanged || (1...6).contains($0.amount) })
    }
  }

  @Test(arguments: FaultKind.onlyByName, [[], ["--cluster"]])
  func `a kind that only its name brings can be named`(kind: FaultKind, layout: [String]) throws {
    #expect(try Arguments(parsing: ["--only", "\(kind)"] + layout).kinds == [kind])
  }

  @Test func `only the kinds that were asked for occur`() {
    let steps = Plan(seed: 3, faults: 20, workers: 2, kinds: [.drop, .redisKilled]).steps
    #expect(Set(steps.map(\.kind)) == [.drop, .redisKilled])
  }

  @Test func `a frozen worker loses its lease`() {
    #expect(FaultKind.workerFrozen.milliseconds.lowerBound > 15_000)
  }

  @Test func `a command line is read, and an invalid one refused`() throws {
    let arguments = try Arguments(parsing: ["--seed", "5", "--faults", "9", "--only", "drop,redisKilled"])
    #expect(arguments.seed == 5)
    #expect(arguments.faults == 9)
    #expect(arguments.kinds == [.drop, .redisKilled])
    #expect(try Arguments(parsing: ["--only", "queueMoved", "--cluster"]).kinds == [.queueMoved])
    for words in [
      ["--only", "queueMoved"], ["--only", "redisCut", "--cluster"], ["--seed"], ["--seed", "x"], ["--faults", "0"],
      ["--only", "fire"], ["--only", ""], ["seed"],
    ] {
      #expect(throws: UsageError.self) { try Arguments(parsing: words) }
    }
  }
}
