/// What a process runs, from its start to its end.
@EventLoop
public protocol Service {
  func start() async throws

  /// Takes no more work. Returns when the work in hand has ended, or its grace time is over.
  func stop() async

  /// Ends the grace time.
  func endGrace()

  /// Releases shared resources. Called after every service has stopped.
  func close() async
}

extension Service {
  public func stop() async {}
  public func endGrace() {}
  public func close() async {}
}
