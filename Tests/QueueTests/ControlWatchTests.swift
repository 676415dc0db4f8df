import EventLoop
import Telemetry
import Testing

@testable import Queue

@EventLoop
struct ControlWatchTests {
  private let watch = ControlWatch(
    queues: [QueueKeys(queue: "high"), QueueKeys(queue: "low")], metrics: Metrics())

  private func state(_ text: String) -> ControlState? { ControlState(bytes: Array(text.utf8)) }

  @Test func `jobs of a queue of which nothing is asked are not looked up`() {
    #expect(!watch.mustScreen(queueIndex: 0))
    watch.take(state("1 C"), queueIndex: 0)
    #expect(watch.mustScreen(queueIndex: 0))
    #expect(!watch.mustScreen(queueIndex: 1))
    watch.take(nil, queueIndex: 0)
    #expect(!watch.mustScreen(queueIndex: 0))
  }

  @Test func `jobs that were claimed with one that is scheduled are looked up, and those of the next claim are not`() {
    watch.addScheduling(queueIndex: 1)
    #expect(watch.mustScreen(queueIndex: 1))
    #expect(watch.has(.scheduledIDs, queueIndex: 1))
    watch.take(state("1 C"), queueIndex: 1)
    #expect(!watch.has(.scheduledIDs, queueIndex: 1))
    watch.addScheduling(queueIndex: 1)
    #expect(watch.has(.scheduledIDs, queueIndex: 1))
    watch.take(nil, queueIndex: 1)
    #expect(!watch.mustScreen(queueIndex: 1))
  }

  @Test func `a pause and drained workers concern no single job, so none is looked up`() {
    watch.take(state("1 PD\n{}"), queueIndex: 0)
    #expect(!watch.mustScreen(queueIndex: 0))
    watch.take(state("2 PB\n{}"), queueIndex: 0)
    #expect(watch.mustScreen(queueIndex: 0))
  }

  @Test func `a change that could not be read is reported again, once`() {
    var changes = 0
    watch.onChange = { _, _ in changes += 1 }
    watch.take(state("1 C"), queueIndex: 0)
    watch.repeatChange(queueIndex: 0)
    watch.take(state("1 C"), queueIndex: 1)
    #expect(changes == 2)
    for _ in 0..<3 { watch.take(state("1 C"), queueIndex: 0) }
    #expect(changes == 3)
  }

  @Test func `a change is reported once, with what was before`() {
    var changes: [[Int64?]] = []
    watch.onChange = { [watch] index, old in
      changes.append([Int64(index), old?.version, watch.state(queueIndex: index)?.version])
    }
    for text in ["5 P", "5 P", "6 C"] { watch.take(state(text), queueIndex: 1) }
    watch.take(nil, queueIndex: 1)
    watch.take(nil, queueIndex: 1)
    #expect(changes == [[1, nil, 5], [1, 5, 6], [1, 6, nil]])
    #expect(!watch.isPaused(queueIndex: 1))
  }
}
