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
  private static let taskExecutor = LoopTaskExecutor()

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    EventLoop.executor.asUnownedSerialExecutor()
  }

  /// Starts a task on the loop, which resumes there directly after each suspension.
  ///
  /// Other tasks pass through a thread of the global pool first, which costs two context switches.
  @discardableResult
  public nonisolated static func start<Value: Sendable>(
    _ body: sending @escaping @EventLoop () async -> Value
  ) -> Task<Value, Never> {
    // Not `operation: body`: what begins in the actor has no task executor yet, and would suspend at each call.
    Task(executorPreference: taskExecutor) { await body() }
  }

  /// Runs `body` in a later turn of the loop.
  public nonisolated static func run(_ body: @escaping @EventLoop @Sendable () -> Void) {
    queue.async { assumeIsolated(body) }
  }

  /// Runs `body` now. Traps if the current queue is not the loop's.
  @inlinable @inline(__always)
  public nonisolated static func assumeIsolated<T: Sendable>(_ body: @EventLoop () -> T) -> T {
    dispatchPrecondition(condition: .onQueue(queue))
    return withoutActuallyEscaping(body) { body in
      // Removes only the isolation from the type, which the precondition has proved.
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

/// Runs tasks on the loop as if in the actor, so that their calls in it do not suspend.
private final class LoopTaskExecutor: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    EventLoop.queue.async { [self] in
      job.runSynchronously(isolatedTo: EventLoop.sharedUnownedExecutor, taskExecutor: asUnownedTaskExecutor())
    }
  }
}

extension EventLoop {
  @EventLoop private static var pending: [@EventLoop () -> Void] = []
  @EventLoop private static var isScheduled = false

  /// Runs `body` at the end of this turn of the loop, so that the work of one turn can be sent in one write.
  @EventLoop
  public static func atEndOfTurn(_ body: @escaping @EventLoop () -> Void) {
    pending.append(body)
    guard !isScheduled else { return }
    isScheduled = true
    queue.async { assumeIsolated { runPending() } }
  }

  /// Returns after everything passed to ``atEndOfTurn(_:)`` before has run.
  @EventLoop
  public static func endOfTurn() async {
    await withCheckedContinuation { continuation in
      atEndOfTurn { continuation.resume() }
    }
  }

  @EventLoop
  private static func runPending() {
    isScheduled = false
    let bodies = pending
    pending.removeAll(keepingCapacity: true)
    for body in bodies { body() }
  }
}

extension EventLoop {
  /// Calls `body` for each element: it begins something, and calls what it is given once with the result. Passes the
  /// results, in the order of the elements, when the last has arrived.
  @EventLoop @inlinable
  public static func gather<Element, Value>(
    _ elements: some Collection<Element>, _ body: (Element, @escaping @EventLoop (Value) -> Void) -> Void,
    completion: @escaping @EventLoop ([Value]) -> Void
  ) {
    var values = [Value?](repeating: nil, count: elements.count)
    var missing = values.count
    guard missing > 0 else { return completion([]) }
    for (index, element) in elements.enumerated() {
      body(element) { value in
        values[index] = value
        missing -= 1
        if missing == 0 { completion(values.compactMap { $0 }) }
      }
    }
  }

  /// Returns the results of ``gather(_:_:completion:)``.
  @EventLoop
  public static func gather<Element, Value: Sendable>(
    _ elements: some Collection<Element>, _ body: (Element, @escaping @EventLoop (Value) -> Void) -> Void
  ) async -> [Value] {
    await withCheckedContinuation { continuation in
      gather(elements, body) { continuation.resume(returning: $0) }
    }
  }
}
