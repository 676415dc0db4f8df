import PushModel
import Testing

@testable import Jobs

/// Jobs to a channel.
struct ChannelJobTests {
  private func parse(_ json: String) -> Result<Job, JobError> {
    Result { () throws(JobError) in try Job(parsing: Array(json.utf8)) }
  }

  private func reason(_ json: String) -> String? {
    if case .failure(let error) = parse(json) { error.reason } else { nil }
  }

  @Test func `a channel takes the state of a Live Activity`() throws {
    let job = try parse(
      #"{"to":{"channel":"match-1"},"app":"com.a","liveActivity":{"event":"update","contentState":{"a":1}}}"#
    ).get()
    #expect(job.addressee == .channel("match-1"))
    #expect(job.pushType == .liveactivity)
    #expect(job.priority == 5)
    #expect(job.liveActivity?.event == .update)
  }

  @Test(arguments: [
    (#"{"to":{"channel":"a b"},"title":"x"}"#, "to.channel"),
    (#"{"to":{"channel":"a","user":"b"},"title":"x"}"#, "expected exactly one of"),
    (#"{"to":{"channel":"a"},"title":"x"}"#, "liveActivity: missing"),
    (#"{"to":{"channel":"a"},"payload":{"aps":{}}}"#, "liveActivity: missing"),
    (
      #"{"to":{"channel":"a"},"collapseId":"c","liveActivity":{"event":"end"}}"#, "collapseId: not for a channel"
    ),
    (
      #"{"to":{"channel":"a"},"title":"x","liveActivity":{"event":"start","id":"i","attributesType":"T","attributes":{},"contentState":{}}}"#,
      "a channel cannot start"
    ),
  ])
  func `everything else is refused`(json: String, expected: String) {
    let reason = reason(json)
    #expect(reason?.contains(expected) == true, "\(reason ?? "accepted")")
  }
}
