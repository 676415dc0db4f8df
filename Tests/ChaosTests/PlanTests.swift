import Testing

@testable import Chaos

struct PlanTests {
  @Test func `the same seed gives the same plan, another seed another`() {
    let plan = Plan(seed: 7, faults: 200, workers: 4)
    #expect(plan == Plan(seed: 7, faults: 200, workers: 4))
    #expect(plan.steps.count == 200)
    #expect(plan.steps != Plan(seed: 8, faults: 200, workers: 4).steps)
  }

  @Test func `every kind occurs before any occurs again`() {
    let count = FaultKind.allCases.count
    let steps = Plan(seed: 1, faults: 3 * count, workers: 4).steps
    for round in 0..<3 {
      #expect(Set(steps[(round * count)..<((round + 1) * count)].map(\.kind)).count == count)
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
    for words in [["--seed"], ["--seed", "x"], ["--faults", "0"], ["--only", "fire"], ["--only", ""], ["seed"]] {
      #expect(throws: UsageError.self) { try Arguments(parsing: words) }
    }
  }
}
