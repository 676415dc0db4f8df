import Dispatch
import EventLoop
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@EventLoop
struct EventLoopTests {
  @Test func `work that is postponed to the end of the turn runs after the turn and in order`() async {
    var order: [Int] = []
    await withCheckedContinuation { continuation in
      EventLoop.atEndOfTurn { order.append(2) }
      EventLoop.atEndOfTurn {
        order.append(3)
        continuation.resume()
      }
      order.append(1)
    }
    #expect(order == [1, 2, 3])
  }

  @Test func `a task that was started on the loop resumes there, outside of the actor, too`() async {
    let key = DispatchSpecificKey<Bool>()
    EventLoop.queue.setSpecific(key: key, value: true)
    defer { EventLoop.queue.setSpecific(key: key, value: nil) }
    #expect(await EventLoop.start { await isResumed(onQueueWith: key) }.value)
    #expect(await Task.detached { await isResumed(onQueueWith: key) }.value == false)
  }

  @Test func `calls in the actor do not suspend a task that was started on the loop`() async {
    let isSuspended = await EventLoop.start {
      var isSuspended = false
      await EventLoop.endOfTurn()
      EventLoop.run { isSuspended = true }
      await callInActor()
      return isSuspended
    }.value
    #expect(!isSuspended)
  }

  private func callInActor() async { await callAgainInActor() }

  private func callAgainInActor() async {}

  @Test func `permits are never granted beyond their limit`() {
    let permits = Permits(limit: 5)
    #expect(permits.take(upTo: 3) == 3)
    #expect(permits.take(upTo: 3) == 2)
    #expect(permits.take(upTo: 1) == 0)
    permits.release(4)
    #expect(permits.available == 4)
    #expect(permits.taken == 1)
  }

  @Test func `a released permit is announced`() {
    let permits = Permits(limit: 1)
    var announced = 0
    permits.onRelease { announced += 1 }
    _ = permits.take(upTo: 1)
    permits.release()
    #expect(announced == 1)
  }

  @Test func `a lowered limit leaves taken permits alone and grants no more until they are released`() {
    let permits = Permits(limit: 10)
    var announced = 0
    permits.onRelease { announced += 1 }
    #expect(permits.take(upTo: 8) == 8)
    permits.setLimit(3)
    #expect(announced == 0)
    #expect(permits.available == 0)
    #expect(permits.take(upTo: 1) == 0)
    permits.release(6)
    #expect(permits.take(upTo: 5) == 1)
    permits.setLimit(10)
    #expect(announced == 2, "a raised limit is announced as a release is")
    #expect(permits.available == 7)
    #expect(permits.maximum == 10)
  }

  @Test func `a socket source reports that bytes have arrived`() async throws {
    var pair: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
    defer { for descriptor in pair { close(descriptor) } }
    var source: SocketSource?
    let byte: UInt8 = await withCheckedContinuation { continuation in
      source = SocketSource(
        descriptor: pair[0],
        onReadable: {
          var byte: UInt8 = 0
          _ = read(pair[0], &byte, 1)
          source?.cancel()
          continuation.resume(returning: byte)
        }, onWritable: {})
      source?.watchReading(true)
      var sent: UInt8 = 42
      _ = write(pair[1], &sent, 1)
    }
    #expect(byte == 42)
  }

  @Test func `a socket source that was never resumed can be released`() {
    var pair: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
    defer { for descriptor in pair { close(descriptor) } }
    let source = SocketSource(descriptor: pair[0], onReadable: {}, onWritable: {})
    #expect(source != nil)
  }

  @Test func `a timer fires on the loop`() async {
    var timer: LoopTimer?
    await withCheckedContinuation { continuation in
      timer = .after(.milliseconds(1)) { continuation.resume() }
    }
    #expect(timer != nil)
  }
}

/// Whether it continues on a queue that has `key` after a suspension.
private nonisolated func isResumed(onQueueWith key: DispatchSpecificKey<Bool>) async -> Bool {
  await withCheckedContinuation { continuation in
    DispatchQueue.global().async { continuation.resume() }
  }
  return DispatchQueue.getSpecific(key: key) == true
}
