import JSON
import PushModel

extension Job {
  /// Returns the APNs priority.
  public func apnsPriority(_ terms: (any ClassTerms)?) -> Int { terms?.priority(priority) ?? priority }

  /// Returns the APNs payload, which is the same for all devices of the job. Throws `PayloadTooLarge: …` if it is larger than
  /// APNs accepts. `terms` are those of its class; a job with a class has no payload without them.
  ///
  /// `timestamp`, in unix seconds, is that of a Live Activity's state; `channel` APNs' id of the channel that is to update it.
  public func apnsPayload(
    _ terms: (any ClassTerms)? = nil, timestamp: Int64 = 0, channel: String? = nil
  ) throws(JobError) -> [UInt8] {
    let bytes = try payload(terms, timestamp: timestamp, channel: channel)
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
    _ terms: (any ClassTerms)? = nil, timestamp: Int64 = 0, channel: String? = nil
  ) throws(JobError) -> [UInt8] {
    switch content {
    case .payload(let bytes): bytes
    case .classed(_, let preview): try classedPayload(terms, preview)
    case .activity(let activity, let notification):
      activity.apnsPayload(notification, timestamp: timestamp, channel: channel)
    case .newestState: throw JobError(reason: "to: the activity has no state")
    }
  }

  private func classedPayload(_ terms: (any ClassTerms)?, _ preview: String?) throws(JobError) -> [UInt8] {
    guard let terms, case .instance(let instance) = addressee else {
      throw JobError(reason: "class: no delivery policy has this class")
    }
    return terms.payload(to: instance, preview: preview)
  }
}
