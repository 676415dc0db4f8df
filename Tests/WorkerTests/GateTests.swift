import EventLoop
import Jobs
import Testing
import TestSupport

@testable import Queue
@testable import Worker

@EventLoop
struct GateTests {
  /// Concerns the jobs whose ids contain its letter, and answers when it is told.
  private final class LetterGate: Gate {
    let letter: Character
    private(set) var asked: [[String]] = []
    private var waiting: [(Delivery, @EventLoop (Delivery, GateAnswer) -> Void)] = []

    init(_ letter: Character) { self.letter = letter }

    func concerns(_ delivery: Delivery) -> Bool { delivery.id.contains(letter) }

    func ask(_ deliveries: [Delivery], _ answer: @escaping @EventLoop (Delivery, GateAnswer) -> Void) {
      asked.append(deliveries.map(\.id))
      waiting += deliveries.map { ($0, answer) }
    }

    /// Answers every job that waits.
    func answer(_ answer: (Delivery) -> GateAnswer) {
      let all = waiting
      waiting = []
      for (delivery, completion) in all { completion(delivery, answer(delivery)) }
    }
  }

  private let a = LetterGate("a")
  private let b = LetterGate("b")
  private let gates: Gates
  private let log = Passage()

  private final class Passage {
    var passed: [[String]] = []
    var stopped: [String] = []
  }

  init() {
    gates = Gates([a, b])
    gates.exits.passed = { [log] in log.passed.append($0.map(\.id)) }
    gates.exits.stopped = { [log] delivery, _ in log.stopped.append(delivery.id) }
  }

  private func jobs(_ ids: String...) throws -> [Delivery] {
    try ids.map { try Delivery.testing(#"{"id":"\#($0)","to":{"user":"u"},"title":"T"}"#) }
  }

  @Test func `a job that concerns no gate is not asked about`() throws {
    let jobs = try jobs("x", "y")
    #expect(!jobs.contains { gates.concern($0) })
    gates.pass(jobs)
    #expect(a.asked.isEmpty && b.asked.isEmpty)
    #expect(log.passed == [["x", "y"]])
  }

  @Test func `jobs that a gate lets through in one turn go on together, to the next gate that they concern`()
    async throws
  {
    let jobs = try jobs("a", "ab", "b", "x", "a2")
    for job in jobs { #expect(gates.concern(job) == (job.id != "x")) }
    gates.pass(jobs)
    #expect(a.asked == [["a", "ab", "a2"]])
    #expect(b.asked == [["b"]])
    #expect(log.passed == [["x"]])
    a.answer { _ in .go }
    #expect(log.passed == [["x"]], "they wait for the end of the turn")
    await EventLoop.endOfTurn()
    #expect(log.passed == [["x"], ["a", "a2"]])
    #expect(b.asked == [["b"], ["ab"]])
    b.answer { _ in .go }
    await EventLoop.endOfTurn()
    #expect(log.passed == [["x"], ["a", "a2"], ["b", "ab"]])
    #expect(log.stopped.isEmpty)
  }

  @Test func `a job that is stopped, or was fenced meanwhile, goes no further`() async throws {
    let jobs = try jobs("a", "ab", "a2")
    gates.pass(jobs)
    jobs[2].claim.isFenced = true
    a.answer { $0.id == "a" ? .go : $0.id == "ab" ? .refuse(reason: "r") : .go }
    await EventLoop.endOfTurn()
    #expect(log.stopped == ["ab", "a2"])
    #expect(log.passed == [["a"]])
    #expect(b.asked.isEmpty)
  }
}
