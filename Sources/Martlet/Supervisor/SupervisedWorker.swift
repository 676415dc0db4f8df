import EventLoop
import HTTPServer
import Telemetry
import Worker

/// The other end of the supervisor's channel, in a worker process.
@EventLoop
final class SupervisedWorker {
  private let service: WorkerService
  private let log: Log
  private var channel: Channel?

  /// Takes ownership of `descriptor`. Nil if descriptors are exhausted.
  init?(_ service: WorkerService, channel descriptor: Int32, log: Log) {
    self.service = service
    self.log = log
    channel = Channel(
      descriptor, onMessage: { [weak self] message in self?.receive(message) },
      onClose: { [weak self] in self?.supervisorEnded() })
    if channel == nil { return nil }
  }

  private func receive(_ message: ChannelMessage) {
    switch message {
    case .stop: Termination.receive()
    case .hurry: Termination.hurry()
    case .reload: Reload.receive()
    case .ask(let number, let path):
      let response = service.adminResponse(to: path)
      channel?.send(.answer(number: number, status: UInt16(response.status), body: response.body))
    case .answer: break
    }
  }

  private func supervisorEnded() {
    log.warn("the supervisor has ended: stopping")
    Termination.receive()
  }
}
