import PushModel
import APNs
import EventLoop
import Jobs
import Registry

/// One payload to some devices, a few at a time, answered within a bounded time whatever the gateway does.
@EventLoop
final class DirectAttempt {
  /// From the first push to the last result; what has no answer by then is told so. Leaves time for the rest of a request
  /// that has 20 s in all.
  static let patience = Duration.seconds(18)

  private let payload: [UInt8]
  private let devices: [Device]
  private let client: APNsClient
  private let composer: PushComposer
  /// In the order of the devices; nil while open.
  private var results: [DeviceResult?]
  private var stale: [StaleDevice] = []
  private var next = 0
  private var open: Int
  private var timer: LoopTimer?
  private var waiting: CheckedContinuation<Void, Never>?

  init(_ payload: [UInt8], _ devices: [Device], client: APNsClient, composer: PushComposer) {
    self.payload = payload
    self.devices = devices
    self.client = client
    self.composer = composer
    results = Array(repeating: nil, count: devices.count)
    open = devices.count
  }

  /// Results in the order of the devices, and the devices that APNs called stale.
  func end(concurrency: Int) async -> (results: [DeviceResult], stale: [StaleDevice]) {
    timer = .after(DirectAttempt.patience) { [weak self] in self?.giveUp() }
    await withCheckedContinuation { continuation in
      waiting = continuation
      for _ in 0..<concurrency { sendNext() }
      endIfDone()
    }
    timer = nil
    let results = zip(devices, results).map { device, result in
      result ?? DeviceResult(token: device.token, ok: false, status: 0, apnsID: "", reason: NoAnswer.timeout)
    }
    return (results, stale)
  }

  /// The next device that APNs can reach.
  private func sendNext() {
    while waiting != nil, next < devices.count {
      let index = next
      next += 1
      guard devices[index].platform == .android else { return send(index) }
      close(index, status: 0, reason: Tally.unsupportedPlatform)
    }
  }

  private func send(_ index: Int) {
    let device = devices[index]
    let topic = PushType.alert.topic(bundleID: composer.bundleID(of: device) ?? "")
    // The push keeps this closure until it is called, and the closure the push.
    var current: Push?
    let push = Push(
      to: Push.Target(
        token: device.token, topic: topic, environment: composer.environment(of: device),
        owner: device.username.map(PushOwner.user)),
      message: Push.Message(payload: payload), apnsID: JobID.random()
    ) { [self] outcome in
      if let push = current { arrived(outcome, push, index) }
      current = nil
      sendNext()
      endIfDone()
    }
    current = push
    client.send(push)
  }

  private func arrived(_ outcome: SendOutcome, _ push: Push, _ index: Int) {
    guard waiting != nil else { return }
    if case .answered(let answer) = outcome {
      let removalAllowed = client.removalAllowed(for: push, after: answer)
      if case .stale(let since) = PushOutcome(outcome, removalAllowed: removalAllowed),
        let device = StaleDevice(devices[index], unregisteredSince: since)
      {
        stale.append(device)
      }
    }
    close(index, status: outcome.status, apnsID: push.apnsID, reason: NoAnswer.reason(outcome) ?? outcome.reason)
  }

  private func close(_ index: Int, status: Int, apnsID: String = "", reason: String?) {
    results[index] = DeviceResult(
      token: devices[index].token, ok: status == 200, status: status, apnsID: apnsID, reason: reason)
    open -= 1
  }

  private func endIfDone() {
    if open == 0 { giveUp() }
  }

  /// Waits for no more answers.
  private func giveUp() {
    waiting?.resume()
    waiting = nil
  }
}
