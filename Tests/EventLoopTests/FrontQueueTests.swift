import EventLoop
import Testing

struct FrontQueueTests {
  @Test func `elements keep their order through growth and compaction`() {
    var queue = FrontQueue<Int>()
    var next = 0
    var expected = 0
    for round in 0..<50 {
      let added = (round % 7) * 300
      queue.append(contentsOf: next..<next + added)
      queue.append(next + added)
      next += added + 1
      for _ in 0..<(round % 5) * 350 {
        guard let element = queue.popFirst() else { break }
        #expect(element == expected)
        expected += 1
      }
      #expect(queue.isEmpty == (next == expected))
      #expect(queue.count == next - expected)
      #expect(queue.first == (next == expected ? nil : expected))
    }
    next -= 1
    #expect(queue.popLast() == next)
    #expect(queue.removeAll() == Array(expected..<next))
    #expect(queue.isEmpty && queue.popFirst() == nil && queue.popLast() == nil)
  }
}
