import Dispatch

#if canImport(Glibc)
  import Glibc
#endif

/// Delivers a Unix signal as an event of the loop.
///
/// ``block(_:)`` must have been called at the start of the process, before any other thread exists.
@EventLoop
public final class SignalSource {
  private let source: any DispatchSourceSignal

  public init(_ signal: Int32, _ body: @escaping @EventLoop () -> Void) {
    source = DispatchSource.makeSignalSource(signal: signal, queue: EventLoop.queue)
    source.setEventHandler { EventLoop.assumeIsolated(body) }
    source.activate()
  }

  isolated deinit {
    source.cancel()
  }

  /// Prevents the default action, which ends the process, before the source exists.
  public nonisolated static func block(_ signals: [Int32]) {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }
}
