import EventLoop
import Testing

@EventLoop
struct KeyedMutexTests {
  @Test func `those who take one key have it one after the other, others at once`() {
    let turns = KeyedMutex<String>()
    var order: [String] = []
    turns.take("a") { order.append("first") }
    turns.take("a") { order.append("second") }
    turns.take("a") { order.append("third") }
    turns.take("b") { order.append("other") }
    #expect(order == ["first", "other"])
    turns.leave("a")
    #expect(order == ["first", "other", "second"])
    turns.leave("a")
    turns.leave("a")
    turns.take("a") { order.append("later") }
    #expect(order == ["first", "other", "second", "third", "later"])
  }

  @Test func `whoever finds too many waiting is refused at once`() async {
    let turns = KeyedMutex<String>(limit: 1)
    #expect(await turns.take("a"))
    var calls = 0
    #expect(turns.take("a") { calls += 1 })
    #expect(await !turns.take("a"))
    #expect(!turns.take("a") { calls += 100 })
    turns.leave("a")
    #expect(calls == 1)
    #expect(turns.take("a") { calls += 1 })
  }
}
