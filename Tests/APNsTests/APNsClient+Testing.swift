import EventLoop

@testable import APNs

extension APNsClient {
  /// Sends pushes numbered `numbers`, all at once, and waits for all outcomes, in the order of the numbers.
  func outcomes(_ numbers: ClosedRange<Int>, topic: String = "com.example.demo") async -> [PushAnswer] {
    var outcomes = [PushAnswer?](repeating: nil, count: numbers.count)
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

extension PushAnswer {
  var isAccepted: Bool { self == .answered(APNsAnswer(status: 200)) }

  var isUncertain: Bool {
    if case .uncertain = self { true } else { false }
  }

  var isNotProcessed: Bool {
    if case .notProcessed = self { true } else { false }
  }
}
