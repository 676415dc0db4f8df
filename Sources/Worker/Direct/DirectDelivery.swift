package import APNs
package import EventLoop
package import Jobs
import PushModel
package import Registry
package import Telemetry

/// Sends pushes without a job, for the sidecar's test pushes.
@EventLoop
package struct DirectDelivery {
  package let clients: AppClients
  package let registry: Registry
  package let composer: PushComposer
  package let log: Log

  package init(clients: AppClients, registry: Registry, composer: PushComposer, log: Log) {
    self.clients = clients
    self.registry = registry
    self.composer = composer
    self.log = log
  }

  package var isConnected: Bool { clients.isServing }

  /// Sends `payload` as an alert to every device, at most `concurrency` at a time, and removes the devices that APNs calls
  /// stale.
  package func send(_ payload: [UInt8], to devices: [Device], concurrency: Int) async -> DirectReport {
    let attempt = DirectAttempt(payload, devices, composer: composer)
    let (results, stale) = await attempt.run(concurrency: concurrency)
    guard !stale.isEmpty else { return DirectReport(results: results, staleRemoved: 0) }
    let removed = await withCheckedContinuation { continuation in
      registry.removeStale(stale) { continuation.resume(returning: $0) }
    }
    switch removed {
    case .success(let count): return DirectReport(results: results, staleRemoved: count)
    case .failure(let error):
      // The next push finds the tokens stale again.
      log.warn("stale tokens could not be removed", ["error": .init("\(error)")])
      return DirectReport(results: results, staleRemoved: 0)
    }
  }
}

/// One payload to some devices. Ends within ``timeout``, even if the gateway does not answer.
@EventLoop
private final class DirectAttempt {
  /// From the first push to the last result. Leaves time for the rest of a request, which has 20 s in all.
  static let timeout = Duration.seconds(18)

  private let payload: [UInt8]
  private let devices: [Device]
  private let composer: PushComposer
  /// In the order of the devices; nil while there is no answer.
  private var results: [DeviceResult?]
  private var stale: [StaleDevice] = []
  private var next = 0
  private var open: Int
  private var timer: LoopTimer?
  /// Nil once no more answers are awaited.
  private var waiting: CheckedContinuation<Void, Never>?

  init(_ payload: [UInt8], _ devices: [Device], composer: PushComposer) {
    self.payload = payload
    self.devices = devices
    self.composer = composer
    results = Array(repeating: nil, count: devices.count)
    open = devices.count
  }

  /// Results in the order of the devices, and the devices that APNs called stale.
  func run(concurrency: Int) async -> (results: [DeviceResult], stale: [StaleDevice]) {
    timer = .after(DirectAttempt.timeout) { [weak self] in self?.stopWaiting() }
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

  /// Sends to the next device that APNs can reach.
  private func sendNext() {
    while waiting != nil, next < devices.count {
      let index = next
      next += 1
      guard devices[index].platform != .android else {
        record(index, status: 0, reason: Tally.unsupportedPlatform)
        continue
      }
      guard let (client, environment) = composer.target(of: devices[index]) else {
        record(index, status: 0, reason: Tally.unknownApp)
        continue
      }
      return send(index, through: client, environment)
    }
  }

  private func send(_ index: Int, through client: APNsClient, _ environment: PushEnvironment) {
    let device = devices[index]
    let topic = PushType.alert.topic(bundleID: composer.bundleID(of: device) ?? "")
    // The push keeps this closure until it is called, and the closure the push.
    var current: Push?
    let push = Push(
      to: Push.Target(
        token: device.token, topic: topic, environment: environment,
        owner: device.username.map(PushOwner.user)),
      message: Push.Message(payload: payload), apnsID: JobID.random()
    ) { [self] sent in
      if let push = current { answered(sent, push, index, client) }
      current = nil
      sendNext()
      endIfDone()
    }
    current = push
    client.send(push)
  }

  private func answered(_ sent: SendOutcome, _ push: Push, _ index: Int, _ client: APNsClient) {
    guard waiting != nil else { return }
    if case .answered(let answer) = sent {
      let removalAllowed = client.removalAllowed(for: push, after: answer)
      if case .stale(let since) = PushOutcome(sent, removalAllowed: removalAllowed),
        let device = StaleDevice(devices[index], unregisteredSince: since, reason: sent.reason)
      {
        stale.append(device)
      }
    }
    record(index, status: sent.status, apnsID: push.apnsID, reason: NoAnswer.reason(sent) ?? sent.reason)
  }

  private func record(_ index: Int, status: Int, apnsID: String = "", reason: String?) {
    results[index] = DeviceResult(
      token: devices[index].token, ok: status == 200, status: status, apnsID: apnsID, reason: reason)
    open -= 1
  }

  private func endIfDone() {
    if open == 0 { stopWaiting() }
  }

  private func stopWaiting() {
    waiting?.resume()
    waiting = nil
  }
}

/// Why a test push has no answer, in the words of docs/http/push-api.md.
enum NoAnswer {
  static let timeout = "TIMEOUT"

  private static let providerTokenReasons = [
    "ExpiredProviderToken", "InvalidProviderToken", "MissingProviderToken", "TooManyProviderTokenUpdates",
  ]

  /// Nil if APNs answered.
  static func reason(_ sent: SendOutcome) -> String? {
    switch sent {
    case .answered: nil
    case .notProcessed("Timeout"), .uncertain("Timeout"): timeout
    case .notProcessed(let why) where providerTokenReasons.contains { why.hasSuffix($0) }: "JWT_ERROR:\(why)"
    case .notProcessed(let why) where why.hasPrefix("NoConnection") || why == "ShuttingDown": "SESSION_ERROR:\(why)"
    case .notProcessed(let why), .uncertain(let why): "REQUEST_ERROR:\(why)"
    }
  }
}
