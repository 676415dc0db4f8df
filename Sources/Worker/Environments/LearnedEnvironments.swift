import EventLoop
import PushModel
import Registry
import Telemetry

/// Stores what answers have shown of devices, as their environment, in batches: after an import, a million of them may be unknown.
/// What cannot be stored is learned again by the next push.
@EventLoop
final class LearnedEnvironments {
  /// Devices of one write, and devices that wait for it.
  private static let (batch, maximumWaiting) = (300, 10_000)

  private let registry: Registry
  private let log: Log
  private var waiting: [AnsweredDevice] = []
  private var isWriting = false

  init(registry: Registry, log: Log) {
    self.registry = registry
    self.log = log
  }

  /// APNs has accepted a push to a device whose environment is unknown or another, or it cannot be reached.
  func add(_ device: AnsweredDevice) {
    guard device.device.kind != nil, waiting.count < LearnedEnvironments.maximumWaiting else { return }
    report(device)
    waiting.append(device)
    guard !isWriting else { return }
    isWriting = true
    EventLoop.atEndOfTurn { [self] in writeNext() }
  }

  private func writeNext() {
    let batch = Array(waiting.prefix(LearnedEnvironments.batch))
    isWriting = !batch.isEmpty
    guard isWriting else { return }
    waiting.removeFirst(batch.count)
    registry.learn(batch) { [self] result in
      if case .failure(let error) = result {
        log.debug("what was learned of devices could not be stored", ["error": .init("\(error)")])
      }
      writeNext()
    }
  }

  private func report(_ answered: AnsweredDevice) {
    let device = answered.device
    let token = Log.shortened(device.token.text)
    guard case .accepted(let environment) = answered.finding else {
      return log.debug(
        "a device is kept unsent: it may be of an environment that cannot be asked", ["token": .init(token)])
    }
    guard let former = device.environment else {
      return log.debug(
        "learned the environment of a device",
        ["token": .init(token), "environment": .init(environment.rawValue)])
    }
    // Operator: Let the app register with the environment of its build.
    log.info(
      "a device was registered with the wrong environment, which is corrected",
      [
        "token": .init(token), "username": .init(device.username?.text), "instance": .init(answered.instance),
        "from": .init(former.rawValue), "to": .init(environment.rawValue),
        "fix": "let the app register with the environment of its build",
      ])
  }
}
