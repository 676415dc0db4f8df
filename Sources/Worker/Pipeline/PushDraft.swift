import APNs
import EventLoop
import Jobs
import Registry

/// One device of a job, ready to be sent.
@EventLoop
final class PushDraft {
  let delivery: Delivery
  let device: Device
  let content: PushContent
  let apnsID: String
  /// The page of a broadcast that the device came with.
  let page: Int?
  /// While it is under way.
  var current: Push?

  init(delivery: Delivery, device: Device, content: PushContent, page: Int?) {
    self.delivery = delivery
    self.page = page
    self.device = device
    self.content = content
    apnsID = Jobs.apnsID(jobID: delivery.id, token: device.token)
  }

  func push(_ completion: @escaping @EventLoop (SendOutcome) -> Void) -> Push {
    Push(
      to: Push.Target(
        token: device.token, topic: content.topic, environment: content.environment, owner: owner),
      message: Push.Message(
        payload: content.payload, pushType: content.pushType, priority: content.priority,
        expiration: content.expiration, collapseID: content.collapseID),
      apnsID: apnsID, completion: completion)
  }

  private var owner: PushOwner? {
    if case .instance(let id) = delivery.job.addressee { return .instance(id) }
    return device.username.map(PushOwner.user)
  }
}
