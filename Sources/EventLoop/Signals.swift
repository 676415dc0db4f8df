import Dispatch

#if canImport(Glibc)
  import Glibc
#endif

/// Delivers Unix signals as events of the loop.
@EventLoop
public enum Signals {
  private static var sources: [any DispatchSourceSignal] = []

  /// Calls `body` with the number of each signal that arrives. When this returns, none of them ends the process any more,
  /// and none is missed.
  ///
  /// Call it once, before any other thread exists, and not on the loop, for which it waits.
  public nonisolated static func listen(to numbers: [Int32], _ body: @escaping @EventLoop (Int32) -> Void) {
    block(numbers)
    let registrations = DispatchGroup()
    EventLoop.queue.sync {
      EventLoop.assumeIsolated {
        for number in numbers {
          registrations.enter()
          sources.append(source(of: number, registered: registrations.leave) { body(number) })
        }
      }
    }
    // Dispatch registers sources on a thread of its own. Until then a signal has its default effect.
    registrations.wait()
  }

  private static func source(
    of number: Int32, registered: @escaping @Sendable () -> Void, _ body: @escaping @EventLoop () -> Void
  ) -> any DispatchSourceSignal {
    let source = DispatchSource.makeSignalSource(signal: number, queue: EventLoop.queue)
    source.setRegistrationHandler(handler: registered)
    source.setEventHandler { EventLoop.assumeIsolated(body) }
    source.activate()
    return source
  }

  private nonisolated static func block(_ numbers: [Int32]) {
    var set = sigset_t()
    sigemptyset(&set)
    for number in numbers { sigaddset(&set, number) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }
}
