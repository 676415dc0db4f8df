import PushModel
public import Jobs
import JSON

extension Job {
  /// The highest priority of a class of low urgency.
  private static let priorityOfLowUrgency = 5

  /// Returns the APNs priority. A class of low urgency does not wake the screen, even if the job asks for it.
  public func apnsPriority(_ match: PolicyMatch?) -> Int {
    match?.notificationClass.urgency == .low ? min(priority, Job.priorityOfLowUrgency) : priority
  }

  /// Returns the APNs payload, which is the same for all devices of the job. Throws `PayloadTooLarge: …` if it is larger than
  /// APNs accepts. `match` is the result of ``PolicyBook/match(_:)``; a job with a class has no payload without it.
  ///
  /// `timestamp`, in unix seconds, is that of a Live Activity's state; `channel` APNs' id of the channel that is to update it.
  public func apnsPayload(
    _ match: PolicyMatch? = nil, timestamp: Int64 = 0, channel: String? = nil
  ) throws(JobError) -> [UInt8] {
    let bytes = try payload(match, timestamp: timestamp, channel: channel)
    guard bytes.count <= maximumPayloadBytes else {
      var reason = "PayloadTooLarge: \(bytes.count) bytes, at most \(maximumPayloadBytes)"
      if case .activity(let activity, let notification) = content {
        reason += "; the largest part is \(activity.largestPart(with: notification))"
      }
      throw JobError(reason: reason)
    }
    return bytes
  }

  private var maximumPayloadBytes: Int {
    if case .channel = addressee { PushType.maximumBroadcastBytes } else { pushType.maximumPayloadBytes }
  }

  /// Returns the payload without a limit of its size, for clients that poll.
  public func payload(
    _ match: PolicyMatch? = nil, timestamp: Int64 = 0, channel: String? = nil
  ) throws(JobError) -> [UInt8] {
    switch content {
    case .payload(let bytes): bytes
    case .classed(_, let preview): try classedPayload(match, preview)
    case .activity(let activity, let notification):
      activity.apnsPayload(notification, timestamp: timestamp, channel: channel)
    case .newestState: throw JobError(reason: "to: the activity has no state")
    }
  }

  /// Returns the payload described in docs/policy.md.
  private func classedPayload(_ match: PolicyMatch?, _ preview: String?) throws(JobError) -> [UInt8] {
    guard let match, case .instance(let instance) = addressee else {
      throw JobError(reason: "class: no delivery policy has this class")
    }
    let shown = match.shownClass
    var aps = Notification()
    aps.title = match.policy.title
    aps.body = preview ?? shown.preview
    aps.sound = .named("default")
    aps.badge = 1
    aps.contentAvailable = true
    var json = JSONWriter(capacity: 256)
    json.beginObject()
    aps.write(to: &json)
    json.key(escaping: match.policy.member)
    json.beginObject()
    json.member("class", shown.name)
    json.member("instance_id", instance)
    json.member("hint", "poll")
    json.endObject()
    json.endObject()
    return json.bytes
  }
}
