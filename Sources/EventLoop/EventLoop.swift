public import Dispatch

/// The one serial queue of the process, as a global actor.
///
/// Everything that touches sockets, timers, permits or shared state is `@EventLoop`: there are no locks on the data
/// path. Code that a C library or a Dispatch source calls back enters through ``assumeIsolated(_:)``.
@globalActor
public actor EventLoop {
  public static let shared = EventLoop()

  /// The queue itself, for Dispatch sources.
  public static let queue = DispatchQueue(label: "martlet.loop", qos: .userInitiated)

  private static let executor = LoopExecutor(queue: queue)

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    EventLoop.executor.asUnownedSerialExecutor()
  }

  /// Runs `body` in a later turn of the loop.
  public nonisolated static func run(_ body: @escaping @EventLoop @Sendable () -> Void) {
    queue.async { assumeIsolated(body) }
  }

  /// Runs `body` now, on the condition (checked) that this already is the loop's queue.
  @inlinable @inline(__always)
  public nonisolated static func assumeIsolated<T: Sendable>(_ body: @EventLoop () -> T) -> T {
    dispatchPrecondition(condition: .onQueue(queue))
    return withoutActuallyEscaping(body) { body in
      // The type loses only its isolation, which the precondition above has just proved.
      unsafeBitCast(body, to: (() -> T).self)()
    }
  }
}

/// Runs the actor's jobs on a Dispatch queue; `DispatchSerialQueue` does not exist on Linux.
private final class LoopExecutor: SerialExecutor {
  private let queue: DispatchQueue

  init(queue: DispatchQueue) {
    self.queue = queue
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  func checkIsolated() {
    dispatchPrecondition(condition: .onQueue(queue))
  }
}
