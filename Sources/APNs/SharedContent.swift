public import EventLoop
public import PushModel

/// What the pushes of one job to one app and environment share.
@EventLoop
open class SharedContent {
  /// No bundle id ends with it.
  private nonisolated static let channelsSuffix = "/channels"

  /// Usually ``PushType/topic(bundleID:)``.
  public final let topic: String
  public final let environment: PushEnvironment
  /// Whether the push goes to the devices that have subscribed to a channel.
  public final let isBroadcast: Bool
  public final let message: Push.Message

  public init(message: Push.Message, topic: String, environment: PushEnvironment, isBroadcast: Bool = false) {
    self.message = message
    self.topic = topic
    self.environment = environment
    self.isBroadcast = isBroadcast
  }

  /// The topic of pushes to an app's channels. APNs gets none: this one names the route, which is not that of the app's devices.
  public nonisolated static func channels(of bundleID: String) -> String { bundleID + channelsSuffix }

  /// The bundle id that the topic was made from.
  nonisolated var topicBundleID: String {
    isBroadcast ? String(topic.dropLast(SharedContent.channelsSuffix.count)) : message.pushType.bundleID(ofTopic: topic)
  }

  /// Unix seconds; see ``Push/Message/expiration``. A broadcast must say one.
  nonisolated var expiration: Int64? { message.expiration ?? (isBroadcast ? 0 : nil) }
}
