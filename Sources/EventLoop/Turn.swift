import Dispatch

extension EventLoop {
  @EventLoop private static var pending: [@EventLoop () -> Void] = []
  @EventLoop private static var isScheduled = false

  /// Runs `body` once this turn of the loop is over: what gathered in the turn leaves together (one write, one
  /// exchange).
  @EventLoop
  public static func atEndOfTurn(_ body: @escaping @EventLoop () -> Void) {
    pending.append(body)
    guard !isScheduled else { return }
    isScheduled = true
    queue.async { assumeIsolated { runPending() } }
  }

  /// Returns when everything put off before has run.
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
