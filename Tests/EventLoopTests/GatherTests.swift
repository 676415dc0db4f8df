import EventLoop
import Testing

/// Several calls that end in any order.
@EventLoop
struct GatherTests {
  @Test func `results have the order of the calls, whichever ends first`() async {
    var ends: [@EventLoop (Int) -> Void] = []
    var results: [[Int]] = []
    EventLoop.gather([1, 2, 3]) { _, end in
      ends.append(end)
    } completion: {
      results.append($0)
    }
    for place in [2, 0] { ends[place](place * 10) }
    #expect(results.isEmpty)
    ends[1](10)
    #expect(results == [[0, 10, 20]])
  }

  @Test func `a call may end before the next begins`() async {
    #expect(await EventLoop.gather(1...3) { number, end in end(number * number) } == [1, 4, 9])
  }

  @Test func `nothing to call ends at once`() async {
    #expect(await EventLoop.gather([Int]()) { number, end in end(number) } == [])
  }

  @Test func `a result may be nil`() async {
    #expect(await EventLoop.gather([1, 2]) { number, end in end(number == 1 ? nil : number) } == [nil, 2])
  }
}
