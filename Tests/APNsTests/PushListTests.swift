import EventLoop
import Testing

@testable import APNs

@EventLoop
struct PushListTests {
  private func push(_ deadline: UInt64) -> Push {
    let push = TestPush.make()
    push.deadline = deadline
    return push
  }

  private func drain(_ list: inout PushList) -> [UInt64] {
    var deadlines: [UInt64] = []
    while let push = list.popFirst() { deadlines.append(push.deadline) }
    return deadlines
  }

  @Test func `pushes leave in the order of their deadlines, wherever they were inserted`() {
    var list = PushList()
    for deadline: UInt64 in [10, 20, 15, 30, 5] { list.append(push(deadline)) }
    for deadline: UInt64 in [1, 12, 40, 10] { list.putBack(push(deadline)) }
    #expect(list.count == 9)
    #expect(drain(&list) == [1, 5, 10, 10, 12, 15, 20, 30, 40])
    #expect(list.isEmpty)
  }

  @Test func `a push can be removed from the middle and from both ends`() {
    var list = PushList()
    let pushes = (1...5).map { push(UInt64($0)) }
    for push in pushes { list.append(push) }
    for index in [2, 0, 4] { list.remove(pushes[index]) }
    #expect(list.count == 2)
    list.append(push(6))
    #expect(drain(&list) == [2, 4, 6])
  }

  @Test func `equal deadlines keep their order`() {
    var list = PushList()
    let (first, second) = (push(1), push(1))
    list.append(first)
    list.append(second)
    #expect(list.popFirst() === first)
    #expect(list.popFirst() === second)
  }
}
