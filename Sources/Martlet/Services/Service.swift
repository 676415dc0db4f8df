import EventLoop
import Worker

/// A part of the process, from its start to its end.
@EventLoop
protocol Service {
  func start() async throws

  /// Takes no more work. Returns when the work in hand has ended, or its grace time is over.
  func stop() async

  /// Ends the grace time.
  func endGrace()

  /// Releases shared resources. Called after every service has stopped.
  func close() async
}

extension Service {
  func stop() async {}
  func endGrace() {}
  func close() async {}
}

extension WorkerService: Service {
  /// The worker and, if it has one, its webhook.
  var services: [(any Service)?] { [self, webhook] }
}

extension WebhookSender: Service {}
