package import EventLoop
import Jobs
import Queue
package import Redis

/// What a job must pass before it is sent.
@EventLoop
package protocol Gate: AnyObject {
  /// Whether the gate has something to ask about the job. It is called for every job: compare, and no more.
  func concerns(_ delivery: Delivery) -> Bool

  /// Asks about jobs that arrived in one turn of the event loop. Calls `answer` once for each of them.
  func ask(_ deliveries: [Delivery], _ answer: @escaping @EventLoop (Delivery, GateAnswer) -> Void)
}

/// What becomes of a job at a gate.
package enum GateAnswer: Equatable {
  case go
  /// Nothing is sent, and the attempt ends.
  case end(JobOutcome)
  /// The job is invalid for every device.
  case refuse(reason: String)
  /// The answer is unknown: the job is tried again later.
  case postpone(RedisError)
}

/// Gates that jobs pass one after the other: the first of them, and the rest. Only jobs that one of them concerns are brought here.
@EventLoop
package final class Gates {
  /// Where jobs go.
  @EventLoop
  package final class Exits {
    /// Receives jobs that have passed all gates.
    package var passed: (@EventLoop ([Delivery]) -> Void)?
    /// Receives a job that has not, and why.
    package var stopped: (@EventLoop (Delivery, GateAnswer) -> Void)?
  }

  package let exits: Exits
  /// Nil without a gate.
  private let first: (any Gate)?
  private let rest: Gates?
  /// Jobs that the first gate lets through in this turn: they go on together.
  private var collected: [Delivery] = []

  package convenience init(_ gates: [any Gate], exits: Exits = Exits()) {
    self.init(gates.first, rest: gates.dropFirst().reversed().reduce(nil) { Gates($1, rest: $0, exits) }, exits)
  }

  private init(_ gate: (any Gate)?, rest: Gates?, _ exits: Exits) {
    first = gate
    self.rest = rest
    self.exits = exits
  }

  /// Whether a gate has something to ask about the job. Most jobs concern none.
  package func concern(_ delivery: Delivery) -> Bool {
    first?.concerns(delivery) == true || rest?.concern(delivery) == true
  }

  /// Brings jobs to the gates, each of which lets through those that it does not concern.
  package func pass(_ deliveries: [Delivery]) {
    guard let first else { return passOn(deliveries) }
    var asked: [Delivery] = []
    var others: [Delivery] = []
    for delivery in deliveries {
      if first.concerns(delivery) { asked.append(delivery) } else { others.append(delivery) }
    }
    passOn(others)
    guard !asked.isEmpty else { return }
    first.ask(asked) { [self] delivery, answer in
      guard answer == .go, !delivery.claim.isFenced else { return exits.stopped?(delivery, answer) ?? () }
      collected.append(delivery)
      if collected.count == 1 { EventLoop.atEndOfTurn { [self] in passOn(takeCollected()) } }
    }
  }

  private func passOn(_ deliveries: [Delivery]) {
    guard !deliveries.isEmpty else { return }
    if let rest { rest.pass(deliveries) } else { exits.passed?(deliveries) }
  }

  private func takeCollected() -> [Delivery] {
    defer { collected = [] }
    return collected
  }
}
