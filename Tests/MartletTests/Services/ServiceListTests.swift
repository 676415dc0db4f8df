import EventLoop
import HTTPServer
import Program
import Telemetry
import Testing
import TestSupport

@testable import Martlet

@EventLoop
struct ServiceListTests {
  private final class Steps {
    var taken: [String] = []
  }

  private final class Step: Service {
    let name: String
    let steps: Steps
    /// Whether ``stop()`` waits for ``endGrace()``.
    let isSlow: Bool
    private var waiting: CheckedContinuation<Void, Never>?

    init(_ name: String, _ steps: Steps, isSlow: Bool = false) {
      self.name = name
      self.steps = steps
      self.isSlow = isSlow
    }

    func start() { steps.taken.append("start \(name)") }

    func stop() async {
      steps.taken.append("stop \(name)")
      if isSlow { await withCheckedContinuation { waiting = $0 } }
    }

    func endGrace() {
      waiting?.resume()
      waiting = nil
    }

    func close() { steps.taken.append("close \(name)") }
  }

  @Test func `services start in order, stop together, and close in reverse when the last has stopped`() async throws {
    let steps = Steps()
    let list = ServiceList([Step("one", steps), Step("two", steps, isSlow: true)], log: .silent)
    let run = Task { @EventLoop in try await list.run() }
    ServiceSignal.termination.receive()
    try await eventually("both have stopped") { steps.taken.count == 4 }
    #expect(steps.taken == ["start one", "start two", "stop two", "stop one"])
    ServiceSignal.termination.receive()
    try await run.value
    #expect(steps.taken.suffix(2) == ["close two", "close one"])
  }
}
