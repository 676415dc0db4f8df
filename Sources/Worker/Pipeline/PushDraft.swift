import Activities
import APNs
import EventLoop
import Jobs
import PushModel
import Registry

/// One device of a job, ready to be sent.
@EventLoop
final class PushDraft {
  struct Page {
    let broadcast: Broadcast
    let number: Int
  }

  let delivery: Delivery
  let device: Device
  let content: PushContent
  let apnsID: String
  /// Nil unless the job is a broadcast.
  let page: Page?
  /// Nil unless in flight.
  var push: Push?
  /// Nil unless it was sent and has not ended.
  var permit: Permit?
  /// When it was sent, by the ``AnswerEpochs`` of its app.
  var epoch = 0
  /// When it was sent, unix nanoseconds; 0 unless the trace of its job is recorded.
  var sentAt: UInt64 = 0

  init(delivery: Delivery, device: Device, content: PushContent, page: Page?) {
    self.delivery = delivery
    self.device = device
    self.content = content
    self.page = page
    apnsID = Jobs.apnsID(jobID: delivery.activity?.newest?.jobID ?? delivery.id, token: device.token)
  }

  func makePush(_ completion: @escaping @EventLoop (SendOutcome) -> Void) -> Push {
    Push(
      to: content.isBroadcast ? channel : target,
      message: Push.Message(
        payload: content.payload, pushType: content.pushType, priority: content.priority,
        expiration: content.expiration, collapseID: content.collapseID),
      apnsID: apnsID, completion: completion)
  }

  private var target: Push.Target {
    Push.Target(
      token: device.token, topic: content.topic, environment: content.environment, owner: owner,
      evidence: TokenEvidence(ofEnvironment: content.isLastToAsk, ofTopic: isToOwnTopic))
  }

  private var channel: Push.Target {
    Push.Target(channel: device.token, bundleID: content.bundleID, environment: content.environment)
  }

  /// Whether the topic is the one that the device was registered with, as far as that is known.
  private var isToOwnTopic: Bool {
    guard let kind = device.kind else { return true }
    return content.pushType.isSent(to: kind) && device.bundleID == content.bundleID
  }

  private var owner: PushOwner? {
    if case .instance(let id) = delivery.job.addressee { return .instance(id) }
    return device.username.map(PushOwner.user)
  }
}
