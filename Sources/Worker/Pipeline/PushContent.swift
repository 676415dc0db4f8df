package import APNs
package import EventLoop
import Jobs
package import PushModel

/// What all pushes of a job to one app and environment share.
@EventLoop
package final class PushContent: SharedContent {
  /// The lane of the app, once ``AppLanes`` has looked it up.
  var lane: AppLane?
  package let bundleID: String
  /// Whether the payload is for this environment alone.
  package let isOfEnvironment: Bool
  /// Sends to the app; nil only in tests.
  package let client: APNsClient?
  package let question: TokenQuestion

  package init(
    _ delivery: Delivery, payload: [UInt8], bundleID: String, environment: PushEnvironment, client: APNsClient? = nil,
    question: TokenQuestion
  ) {
    self.bundleID = bundleID
    self.client = client
    self.question = question
    let content = delivery.content
    isOfEnvironment = content.isOfEnvironment
    let isBroadcast = content.isBroadcast
    let message = Push.Message(
      payload: payload, pushType: delivery.job.pushType, priority: content.priority, expiration: content.expiration,
      collapseID: delivery.job.collapseID)
    let topic = isBroadcast ? SharedContent.channels(of: bundleID) : message.pushType.topic(bundleID: bundleID)
    super.init(message: message, topic: topic, environment: environment, isBroadcast: isBroadcast)
  }

  /// The topic of the app's devices, also for a channel.
  package var appTopic: String { message.pushType.topic(bundleID: bundleID) }

  /// The same, to the other environment.
  package init(_ content: PushContent, through client: APNsClient, question: TokenQuestion) {
    bundleID = content.bundleID
    isOfEnvironment = content.isOfEnvironment
    self.client = client
    self.question = question
    super.init(
      message: content.message, topic: content.topic, environment: content.environment.other,
      isBroadcast: content.isBroadcast)
  }
}
