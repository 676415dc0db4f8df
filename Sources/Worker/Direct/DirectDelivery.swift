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
  private let learned: LearnedEnvironments

  package init(clients: AppClients, registry: Registry, composer: PushComposer, log: Log) {
    self.clients = clients
    self.registry = registry
    self.composer = composer
    self.log = log
    learned = LearnedEnvironments(registry: registry, log: log)
  }

  package var isConnected: Bool { clients.isServing }

  /// Sends `payload` as an alert to every device, at most `concurrency` at a time, and removes the devices that APNs calls
  /// stale.
  package func send(_ payload: [UInt8], to devices: [Device], concurrency: Int) async -> DirectReport {
    let attempt = DirectAttempt(payload, devices, composer: composer, learned: learned)
    let (results, stale) = await attempt.run(concurrency: concurrency)
    guard !stale.isEmpty else { return DirectReport(results: results, staleRemoved: 0) }
    let removed = await withCheckedContinuation { continuation in
      registry.removeStale(stale) { continuation.resume(returning: $0) }
    }
    switch removed {
    case .success(let count): return DirectReport(results: results, staleRemoved: count)
    case .failure(let error):
      // The next push finds the tokens stale again.
      // Operator: Nothing, unless it repeats.
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
  private let learned: LearnedEnvironments
  /// In the order of the devices; nil while there is no answer.
  private var results: [DeviceResult?]
  private var stale: [StaleDevice] = []
  private var next = 0
  private var open: Int
  private var timer: LoopTimer?
  /// Nil once no more answers are awaited.
  private var waiting: CheckedContinuation<Void, Never>?

  init(_ payload: [UInt8], _ devices: [Device], composer: PushComposer, learned: LearnedEnvironments) {
    self.learned = learned
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
      switch composer.destination(of: devices[index]) {
      case .client(let client, let environment, let question):
        let place = DirectPush(
          index: index, client: client, environment: environment, question: question, apnsID: JobID.random())
        return send(place)
      case .unreachable(let reason): record(index, status: 0, reason: reason)
      }
    }
  }

  private func send(_ place: DirectPush) {
    let device = devices[place.index]
    let app = composer.bundleID(of: device) ?? ""
    let topic = PushType.alert.topic(bundleID: app)
    let push = Push(
      token: device.token.text, apnsID: place.apnsID,
      shared: SharedContent(message: Push.Message(payload: payload), topic: topic, environment: place.environment),
      owner: device.owner,
      evidence: device.evidence(of: .alert, app: app, place.question))
    push.completion = { [self] sent in
      guard answered(sent, push, place) else { return }
      sendNext()
      endIfDone()
    }
    place.client.send(push)
  }

  /// Returns false if the push is sent to the other environment now.
  private func answered(_ sent: SendOutcome, _ push: Push, _ place: DirectPush) -> Bool {
    guard waiting != nil else { return true }
    let device = devices[place.index]
    let app = composer.bundleID(of: device) ?? ""
    let answer = composer.answer(to: push, sent, of: device, app: app, place.question, through: place.client)
    if sent.isBadDeviceToken, place.first == nil,
      let other = composer.elsewhere(app, than: place.environment, after: place.question)
    {
      send(
        DirectPush(
          index: place.index, client: other.client, environment: place.environment.other, question: other.question,
          apnsID: place.apnsID, first: answer)
      )
      return false
    }
    let result =
      place.first.map { AnsweredPush(first: $0, second: answer, of: device) } ?? AnsweredPush(answer, of: device)
    if case .stale(let since) = result.outcome,
      let gone = StaleDevice(device, unregisteredSince: since, reason: result.sent.reason)
    {
      stale.append(gone)
    }
    let finding = composer.finding(result, of: device, app: app, place.question, through: place.client)
    if let finding { learned.add(AnsweredDevice(device, finding)) }
    record(
      place.index, status: result.sent.status, apnsID: result.sent.isOurRefusal ? "" : push.apnsID,
      reason: NoAnswer.reason(result.sent) ?? result.sent.reason)
    return true
  }

  private func record(_ index: Int, status: Int, apnsID: String = "", reason: String?) {
    results[index] = DeviceResult(
      token: devices[index].token, ok: (200..<300).contains(status), status: status, apnsID: apnsID, reason: reason)
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

/// A test push on its way to one environment.
private struct DirectPush {
  /// Of its device.
  let index: Int
  let client: APNsClient
  let environment: PushEnvironment
  let question: TokenQuestion
  let apnsID: String
  /// What the other environment has answered before.
  var first: PushAnswer?
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
