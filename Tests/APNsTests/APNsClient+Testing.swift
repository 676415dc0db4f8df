import EventLoop
import TestSupport

@testable import APNs

extension APNsClient {
  /// Waits until `count` pushes are in flight, in turns of the loop: what follows comes before their answers are read.
  func turns(untilInFlight count: Int) async throws {
    let end = ContinuousClock.now + patience
    while inFlight < count {
      guard ContinuousClock.now < end else { throw TestTimeout("not \(count) pushes in flight, but \(inFlight)") }
      await EventLoop.endOfTurn()
    }
  }

  /// Sends the push that `makePush` makes with the completion it is given, and waits for its outcome.
  func outcome(
    of makePush: (_ completion: @escaping @EventLoop (SendOutcome) -> Void) -> Push
  ) async -> SendOutcome {
    await withCheckedContinuation { continuation in
      send(makePush { continuation.resume(returning: $0) })
    }
  }

  /// Sends pushes numbered `numbers` at once and returns their outcomes in the order of the numbers.
  func outcomes(_ numbers: ClosedRange<Int>, topic: String = "com.example.demo") async -> [SendOutcome] {
    var outcomes = [SendOutcome?](repeating: nil, count: numbers.count)
    var left = numbers.count
    await withCheckedContinuation { continuation in
      for number in numbers {
        send(
          TestPush.make(number, topic: topic) { outcome in
            precondition(outcomes[number - numbers.lowerBound] == nil, "completed twice")
            outcomes[number - numbers.lowerBound] = outcome
            left -= 1
            if left == 0 { continuation.resume() }
          })
      }
    }
    return outcomes.compactMap { $0 }
  }
}

extension SendOutcome {
  var isAccepted: Bool { self == .answered(APNsAnswer(status: 200)) }

  var isUncertain: Bool {
    if case .uncertain = self { true } else { false }
  }

  var isNotProcessed: Bool {
    if case .notProcessed = self { true } else { false }
  }
}
