import Queue
import Policy
import EventLoop
import Jobs
import Registry
import Telemetry

/// Jobs with a notification class: their policy is asked last, when nothing else keeps them from being sent.
extension Pipeline {
  /// A policy has a say only where there is something to send, and to whom.
  func pass(_ delivery: Delivery, to devices: [Device]) {
    guard let match = delivery.match, case .instance(let instance) = delivery.job.addressee, client != nil,
      !devices.isEmpty
    else { return submit(delivery, to: devices) }
    let request = PolicyRequest(
      job: delivery.claim.envelope.nonce ?? delivery.id, notificationClass: match.notificationClass,
      expiration: delivery.state.expiresAt)
    gate.ask(match, instance: instance, request) { [self] answer in
      switch answer {
      case .fault(let error): putOff(delivery, error)
      case .expired: conclude(delivery, JobOutcome(status: .expired, verb: .done))
      case .decision(let decision):
        metrics.decided(decision)
        carryOut(decision, delivery, devices)
      }
    }
  }

  private func carryOut(_ decision: PolicyDecision, _ delivery: Delivery, _ devices: [Device]) {
    switch decision {
    case .send: submit(delivery, to: devices)
    case .deferUntil(let time):
      conclude(delivery, JobOutcome(status: .deferred, verb: .deferUntil(time)))
    case .suppress(let reason):
      log.debug(
        "a delivery policy suppressed a notification",
        [
          "id": .init(delivery.id), "class": .init(delivery.match?.notificationClass.name ?? ""),
          "reason": .init(reason.rawValue),
        ])
      conclude(delivery, JobOutcome(status: .suppressed, verb: .suppress(reason)))
    }
  }
}
