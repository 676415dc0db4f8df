package import APNs
package import EventLoop
import Jobs
import PushModel
package import Registry

/// The push of a job to one device.
@EventLoop
package final class PushDraft: Push {
  struct Page {
    let broadcast: Broadcast
    let number: Int
  }

  package let delivery: Delivery
  package let device: Device
  package let content: PushContent
  /// Nil unless the job is a broadcast.
  let page: Page?
  /// Set while the push is in flight. Nil for a look at the other environment: there ``completion`` gets the outcome.
  var sender: Pipeline?
  /// Nil unless it was sent and has not ended.
  var permit: Permit?
  /// When it was sent, by the ``AnswerEpochs`` of its app.
  var epoch = 0
  /// When it was sent, unix nanoseconds; 0 unless the attempt is recorded.
  package var sentAt: UInt64 = 0

  init(delivery: Delivery, device: Device, content: PushContent, page: Page?) {
    self.delivery = delivery
    self.device = device
    self.content = content
    self.page = page
    super.init(
      token: device.token.text,
      apnsID: Jobs.apnsID(jobID: delivery.ownContent?.jobID ?? delivery.id, token: device.token.text),
      shared: content, owner: delivery.instance.map(PushOwner.instance) ?? device.owner,
      evidence: device.evidence(of: content.message.pushType, app: content.bundleID, content.question))
  }

  package override func ended(_ outcome: SendOutcome) {
    guard let sender = sender.take() else { return super.ended(outcome) }
    sender.pushEnded(self, outcome)
  }
}
