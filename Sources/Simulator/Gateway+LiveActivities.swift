import EventLoop
import HTTPServer

// Live Activities, channels and broadcasts.
extension Gateway {
  /// Returns the refusal of a request about channels: path, provider token, fields. Nil if it is valid so far.
  func refusal(
    of target: RequestTarget, _ head: RequestHead, provider: inout ConnectionProvider, now: UInt64
  ) -> Answer? {
    if let refusal = rules.refusal(of: target, head) { return refusal }
    if let refusal = refusalOfProvider(head, &provider, now: Int64(now / 1_000_000_000)) { return refusal }
    let bundleID = target.bundleID ?? ""
    if let refusal = rules.refusal(ofApp: bundleID, head) { return refusal }
    return allows(Array(bundleID.utf8)[...], bundleID, provider) ? nil : Answer(403, "TopicMismatch")
  }

  /// Does what a request asks for that has not been refused, and returns its answer.
  func perform(_ target: RequestTarget, _ stream: PushStream, id: PushID, now: UInt64) -> Answer {
    let head = stream.head
    let now = Int64(now / 1_000_000)
    switch target {
    case .push:
      guard !liveDevices.isEmpty else { return .accepted }
      let (answer, reports) = liveDevices.receive(head, body: stream.body, id: id, now: now)
      reporter.schedule(reports)
      return answer
    case .broadcast(let bundleID):
      return broadcast(stream, to: bundleID, id: id, now: now)
    case .channel(let bundleID):
      switch head.text(head[.method]) {
      case "POST": return channels.create(stream.body, for: bundleID)
      case "DELETE":
        let answer = channels.delete(head[.channelID], of: bundleID)
        if let id = answer.channelID { liveDevices.removeChannel(id) }
        return answer
      default: return channels.read(head[.channelID], of: bundleID)
      }
    case .allChannels(let bundleID): return channels.list(of: bundleID)
    case .unknown: return Answer(404, "BadPath")
    }
  }

  private func broadcast(_ stream: PushStream, to bundleID: String, id: PushID, now: Int64) -> Answer {
    switch channels.find(stream.head[.channelID], of: bundleID) {
    case .failure(let refusal): return refusal.answer
    case .success(let (channelID, channel)):
      if let refusal = rules.refusal(ofBroadcast: stream.head, stream.body, to: channel) { return refusal }
      guard let push = LivePush(stream.head, body: stream.body, id: id) else { return Answer(400, "BadRequestPayload") }
      channels.countBroadcast(on: channelID, of: bundleID)
      liveDevices.broadcast(push, on: channelID, keepsNewest: channel.keepsNewest, now: now)
      return Answer(200, channelID: channelID)
    }
  }
}
