import EventLoop
import Jobs
import Queue
import Redis

/// What a job must pass before it is sent.
@EventLoop
protocol Gate {
  /// Whether the gate has something to ask about the job. It is called for every job: compare, and no more.
  func concerns(_ delivery: Delivery) -> Bool

  /// Asks about jobs of one queue that arrived in one turn of the event loop. Calls `answer` once for each of them.
  func ask(_ deliveries: [Delivery], _ answer: @escaping @EventLoop (Delivery, GateAnswer) -> Void)
}

/// What becomes of a job at a gate.
enum GateAnswer: Equatable {
  case go
  /// Nothing is sent, and the attempt ends.
  case end(JobOutcome)
  /// The job is invalid for every device.
  case refuse(reason: String)
  /// The answer is unknown: the job is tried again later.
  case postpone(RedisError)
}

/// Gates that jobs pass one after the other. A job that none of them concerns passes at once.
@EventLoop
struct Gates {
  private let gates: [any Gate]
  private let passed: @EventLoop ([Delivery]) -> Void
  private let stopped: @EventLoop (Delivery, GateAnswer) -> Void
  private let collector = Collector()

  /// Jobs that a gate lets through in this turn: they go on together.
  private final class Collector {
    /// By gate.
    var jobs: [Int: [Delivery]] = [:]
  }

  /// `passed` is called with jobs that have passed all gates, `stopped` with a job that has not, and why.
  init(
    _ gates: [any Gate], passed: @escaping @EventLoop ([Delivery]) -> Void,
    stopped: @escaping @EventLoop (Delivery, GateAnswer) -> Void
  ) {
    self.gates = gates
    self.passed = passed
    self.stopped = stopped
  }

  /// The jobs are of one queue.
  func pass(_ deliveries: [Delivery]) { pass(deliveries, from: 0) }

  private func pass(_ deliveries: [Delivery], from first: Int) {
    var left = deliveries
    for index in first..<gates.count {
      let concerned = Gates.concerned(by: gates[index], &left)
      guard !concerned.isEmpty else { continue }
      gates[index].ask(concerned) { delivery, answer in
        guard answer == .go, !delivery.claim.isFenced else { return stopped(delivery, answer) }
        collect(delivery, behind: index)
      }
    }
    if !left.isEmpty { passed(left) }
  }

  /// Removes and returns the jobs that the gate concerns.
  private static func concerned(by gate: any Gate, _ deliveries: inout [Delivery]) -> [Delivery] {
    // Loops: closures that are isolated check their executor at every call.
    var count = 0
    for delivery in deliveries where gate.concerns(delivery) { count += 1 }
    if count == 0 { return [] }
    var (concerned, others): ([Delivery], [Delivery]) = ([], [])
    for delivery in deliveries {
      if gate.concerns(delivery) { concerned.append(delivery) } else { others.append(delivery) }
    }
    deliveries = others
    return concerned
  }

  private func collect(_ delivery: Delivery, behind gate: Int) {
    collector.jobs[gate, default: []].append(delivery)
    guard collector.jobs[gate]?.count == 1 else { return }
    EventLoop.atEndOfTurn {
      if let deliveries = collector.jobs.removeValue(forKey: gate) { pass(deliveries, from: gate + 1) }
    }
  }
}
