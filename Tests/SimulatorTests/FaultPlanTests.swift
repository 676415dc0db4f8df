import Testing
import Usage

@testable import Simulator

struct FaultPlanTests {
  private func effects(_ faults: [Fault], _ count: Int) -> [FaultEffect] {
    var plan = FaultPlan()
    for fault in faults { plan.add(fault) }
    return (0..<count).map { _ in plan.take(topic: nil) }
  }

  @Test func `a fault of a topic counts and affects pushes of that topic only`() {
    var plan = FaultPlan()
    plan.add(Fault(.stall(processed: false), every: 2, topic: "com.example.a"))
    let topics = ["com.example.a", "com.example.b", "com.example.a", nil, "com.example.a"]
    let effects = topics.map { topic in plan.take(topic: topic.map { ArraySlice($0.utf8) }) }
    #expect(effects == [.none, .none, .stall(processed: false), .none, .none])
  }

  @Test func `a fault counts and affects one kind of request`() {
    var plan = FaultPlan()
    plan.add(Fault(.drop(processed: true), every: 2, on: .channels))
    let effects = [.channels, .pushes, .broadcasts, .channels].map { plan.take(topic: nil, on: $0) }
    #expect(effects == [.none, .none, .none, .drop(processed: true)])
  }

  @Test func `a fault fires at every n-th push after the first ones, a given number of times`() {
    let fault = Fault(.drop(processed: false), every: 2, count: 2, after: 1)
    let drop = FaultEffect.drop(processed: false)
    #expect(effects([fault], 8) == [.none, .none, drop, .none, drop, .none, .none, .none])
  }

  @Test func `an abrupt goaway leaves the last pushes unanswered`() {
    let fault = Fault(.goaway(Goaway(isAbrupt: true), unanswered: 3), every: 4)
    let held = FaultEffect.stall(processed: true)
    #expect(effects([fault], 5) == [.none, held, held, .goaway(Goaway(isAbrupt: true)), .none])
  }

  @Test func `the first fault that fires is applied, and every fault counts every push`() {
    let faults = [Fault(.answer(Answer(503)), every: 2), Fault(.reset(code: 7, processed: true), every: 3)]
    let (unavailable, reset) = (FaultEffect.answer(Answer(503)), FaultEffect.reset(code: 7, processed: true))
    #expect(effects(faults, 6) == [.none, unavailable, reset, unavailable, .none, unavailable])
  }

  @Test func `processed pushes are distinguished from others`() {
    #expect(FaultEffect.none.isProcessed)
    #expect(FaultEffect.goaway(Goaway(isAbrupt: true)).isProcessed)
    #expect(!FaultEffect.reset(code: 7, processed: false).isProcessed)
    #expect(FaultEffect.stall(processed: true).isProcessed)
  }

  @Test func `the command line is read`() throws {
    let arguments = try Arguments(parsing: ["--rtt", "5", "--topic", "a", "--topic", "b", "--no-ledger"])
    #expect(arguments.addedMilliseconds == 5)
    #expect(arguments.topics == ["a", "b"])
    #expect(!arguments.keepsIDs)
  }

  @Test(arguments: [
    ["--what"], ["--rtt"], ["--rtt", "x"], ["--listen", "nowhere"], ["--key-id", "K"],
    ["--name", "a,IP:10.0.0.1"], ["--name", ""],
  ])
  func `an invalid command line is refused`(arguments: [String]) {
    #expect(throws: UsageError.self) { try Arguments(parsing: arguments) }
  }
}
