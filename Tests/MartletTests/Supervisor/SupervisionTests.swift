import EventLoop
import TestSupport
import Testing

@testable import Martlet

struct SupervisionTests {
  private static let second = Duration.seconds(1).unsignedNanoseconds

  /// Three processes that have run since time 0.
  private func running(_ count: Int = 3) -> Supervision {
    var supervision = Supervision(count: count)
    for place in 0..<count { #expect(supervision.started(place, now: 0) == []) }
    return supervision
  }

  @Test func `each place gets a process`() {
    #expect(Supervision(count: 3).begin() == [.start(place: 0), .start(place: 1), .start(place: 2)])
    #expect(running().waiting == [])
  }

  @Test(arguments: [Supervision.End.signal(9), .code(1), .code(0), .code(134), .notStarted])
  func `a process that ends is started again`(end: Supervision.End) {
    var supervision = running()
    let actions = supervision.ended(1, end, now: 5, random: 1)
    #expect(actions == [.restart(place: 1, after: .seconds(1), attempt: 1)])
    #expect(supervision.waiting == [1])
    #expect(supervision.wantsRestart(of: 1) && !supervision.wantsRestart(of: 0))
    #expect(supervision.started(1, now: 6) == [])
    #expect(supervision.waiting == [])
  }

  @Test func `a process that ends again and again waits longer each time, up to a minute`() {
    var supervision = running()
    var delays: [Duration] = []
    for number: UInt64 in 1...9 {
      let now = number * 10 * Self.second
      guard case .restart(0, let delay, Int(number)) = supervision.ended(0, .signal(11), now: now, random: 1).first
      else {
        Issue.record("no restart")
        return
      }
      delays.append(delay)
      _ = supervision.started(0, now: now)
    }
    #expect(delays == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
    // Another place is not affected.
    let actions = supervision.ended(1, .code(1), now: 1, random: 0.5)
    #expect(actions == [.restart(place: 1, after: .milliseconds(500), attempt: 1)])
  }

  @Test func `a process that has lasted a minute begins a new row of restarts`() {
    var supervision = running()
    for _ in 0..<5 {
      _ = supervision.ended(0, .signal(9), now: 1, random: 1)
      _ = supervision.started(0, now: 1)
    }
    let actions = supervision.ended(0, .signal(9), now: 1 + 60 * Self.second, random: 1)
    #expect(actions == [.restart(place: 0, after: .seconds(1), attempt: 1)])
  }

  @Test func `a fault of the configuration stops all, and the supervisor ends with 2`() {
    var supervision = running()
    #expect(supervision.ended(1, .code(2), now: 5, random: 1) == [.stop(place: 0), .stop(place: 2)])
    #expect(supervision.isStopping)
    #expect(supervision.ended(0, .code(0), now: 6, random: 1) == [])
    #expect(supervision.ended(2, .code(0), now: 6, random: 1) == [.exit(.wrongUsage)])
  }

  @Test func `a stop ends with 0 when all have ended in order`() {
    var supervision = running()
    #expect(supervision.stop() == [.stop(place: 0), .stop(place: 1), .stop(place: 2)])
    #expect(supervision.ended(1, .code(0), now: 5, random: 1) == [])
    #expect(supervision.ended(0, .code(0), now: 5, random: 1) == [])
    #expect(supervision.ended(2, .code(0), now: 5, random: 1) == [.exit(.done)])
  }

  @Test(arguments: [Supervision.End.signal(9), .code(1), .code(2)])
  func `a stop ends with 1 when a process fails meanwhile`(end: Supervision.End) {
    var supervision = running()
    _ = supervision.stop()
    #expect(supervision.ended(1, end, now: 5, random: 1) == [])
    #expect(supervision.ended(0, .code(0), now: 5, random: 1) == [])
    #expect(supervision.ended(2, .code(0), now: 5, random: 1) == [.exit(.failed)])
  }

  @Test func `a second stop hastens those that still run, and a third changes nothing`() {
    var supervision = running()
    _ = supervision.stop()
    _ = supervision.ended(1, .code(0), now: 5, random: 1)
    #expect(supervision.stop() == [.hurry(place: 0), .hurry(place: 2)])
    #expect(supervision.stop() == [])
  }

  @Test func `processes that do not end in time are killed, and the stop has failed`() {
    var supervision = running()
    #expect(supervision.overdue() == [])
    _ = supervision.stop()
    _ = supervision.ended(1, .code(0), now: 5, random: 1)
    #expect(supervision.overdue() == [.kill(place: 0), .kill(place: 2)])
    _ = supervision.ended(0, .signal(9), now: 5, random: 1)
    #expect(supervision.ended(2, .signal(9), now: 5, random: 1) == [.exit(.failed)])
  }

  @Test func `a process that waits for its restart is not started while stopping`() {
    var supervision = running()
    _ = supervision.ended(1, .signal(9), now: 5, random: 1)
    #expect(supervision.stop() == [.stop(place: 0), .stop(place: 2)])
    #expect(!supervision.wantsRestart(of: 1))
    #expect(supervision.ended(0, .code(0), now: 6, random: 1) == [])
    #expect(supervision.ended(2, .code(0), now: 6, random: 1) == [.exit(.done)])
  }

  @Test func `a stop while nothing runs ends at once`() {
    var supervision = running(2)
    _ = supervision.ended(0, .signal(9), now: 5, random: 1)
    _ = supervision.ended(1, .signal(9), now: 5, random: 1)
    #expect(supervision.stop() == [.exit(.done)])
  }

  /// Random histories: a place never has two processes, nothing starts after a stop, and the supervisor ends exactly once.
  @Test(arguments: 0..<200) func `every history ends in order`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var supervision = Supervision(count: 4)
    var (running, waiting, exits): (Set<Int>, Set<Int>, [ExitCode]) = ([], [], [])
    var isStopped = false
    func apply(_ actions: [Supervision.Action]) {
      for action in actions {
        switch action {
        case .start(let place):
          #expect(!isStopped && running.insert(place).inserted)
        case .restart(let place, _, _):
          #expect(!isStopped && !running.contains(place) && waiting.insert(place).inserted)
        case .stop(let place), .hurry(let place), .kill(let place): #expect(running.contains(place))
        case .exit(let code):
          #expect(running.isEmpty)
          exits.append(code)
        }
      }
    }
    apply(supervision.begin())
    for place in running { apply(supervision.started(place, now: 0)) }
    for now: UInt64 in 1...400 where exits.isEmpty {
      switch Int.random(in: 0..<10, using: &random) {
      case 0 where now > 100:
        isStopped = true
        apply(supervision.stop())
      case 1...5:
        guard let place = running.randomElement(using: &random) else { continue }
        running.remove(place)
        let ends: [Supervision.End] = [.code(0), .code(1), .signal(9), .code(now > 200 ? 2 : 0)]
        let end = ends.randomElement(using: &random) ?? .notStarted
        if end == .code(2) { isStopped = true }
        apply(supervision.ended(place, end, now: now * Self.second, random: 0.5))
      default:
        guard let place = waiting.popFirst(), supervision.wantsRestart(of: place) else { continue }
        running.insert(place)
        apply(supervision.started(place, now: now * Self.second))
      }
    }
    if exits.isEmpty {
      isStopped = true
      apply(supervision.stop())
      for place in running.sorted() {
        running.remove(place)
        apply(supervision.ended(place, .code(0), now: 500 * Self.second, random: 0.5))
      }
    }
    #expect(exits.count == 1)
  }
}
