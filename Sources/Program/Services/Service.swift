package import EventLoop
import Worker

/// A part of the process, from its start to its end.
@EventLoop
package protocol Service {
  func start() async throws

  /// Takes no more work. Returns when the work in hand has ended, or its grace time is over.
  func stop() async

  /// Ends the grace time.
  func endGrace()

  /// Releases shared resources. Called after every service has stopped.
  func close() async
}

extension Service {
  package func stop() async {}
  package func endGrace() {}
  package func close() async {}
}

extension WorkerService: Service {
  /// The worker and, if it has one, its webhook.
  package var services: [(any Service)?] { [self, webhook] }
}

extension WebhookSender: Service {}
