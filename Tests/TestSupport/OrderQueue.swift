import Foundation

/// Hands values from threads to a thread that waits for them.
final class OrderQueue<Element: Sendable>: @unchecked Sendable {  // Every access holds the condition's lock.
  private let condition = NSCondition()
  private var waiting: [Element] = []

  func put(_ element: Element) {
    condition.withLock {
      waiting.append(element)
      condition.signal()
    }
  }

  func take() -> Element {
    condition.withLock {
      while waiting.isEmpty { condition.wait() }
      return waiting.removeFirst()
    }
  }
}
