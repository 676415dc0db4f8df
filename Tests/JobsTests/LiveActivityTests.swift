import PushModel
import Testing

@testable import Jobs

/// What a job says to a Live Activity, and what is noticed about it.
struct LiveActivityTests {
  private func hint(_ state: String) throws -> String? {
    let text = #"{"to":{"activity":"m"},"liveActivity":{"event":"update","contentState":\#(state)}}"#
    return try Job(parsing: Array(text.utf8)).liveActivity?.hint
  }

  @Test(arguments: [
    (#"{"endsAt":1795264200}"#, "contentState.endsAt"), (#"{"endsAt":1795264200.5}"#, "contentState.endsAt"),
    (#"{"endsAt":1795264200000}"#, "contentState.endsAt"),
    (#"{"a":1,"b":{"c":[{"d":2},{"d":1795264200}]}}"#, "contentState.b.c[1].d"),
  ])
  func `a number that looks like a Unix time is named`(state: String, path: String) throws {
    let hint = try #require(try hint(state))
    #expect(hint.hasPrefix("\(path) looks like a Unix time."))
  }

  @Test(arguments: [
    "{}", #"{"endsAt":816956999}"#, #"{"score":3,"clock":-5.25}"#, #"{"at":"1795264200"}"#, #"{"at":1e300}"#,
    #"{"at":true,"b":null}"#, #"{"id":9007199254740993}"#,
  ])
  func `a state without one is not`(state: String) throws {
    #expect(try hint(state) == nil)
  }

  @Test func `the payload has the hint, too`() throws {
    let payload = #"{"aps":{"timestamp":1795264200,"content-state":{"endsAt":1795264200}}}"#
    #expect(LiveActivity.hint(ofPayload: Array(payload.utf8))?.hasPrefix("contentState.endsAt ") == true)
    #expect(LiveActivity.hint(ofPayload: Array(#"{"aps":{"timestamp":1795264200}}"#.utf8)) == nil)
    #expect(LiveActivity.hint(ofPayload: Array("no JSON".utf8)) == nil)
  }

  private func payload(_ text: String) throws -> String {
    let job = try Job(parsing: Array(text.utf8))
    guard case .activity(let activity, let notification) = job.content else {
      Issue.record("not an activity")
      return ""
    }
    return String(decoding: activity.apnsPayload(notification, timestamp: 7), as: UTF8.self)
  }

  @Test func `a start has the attributes with the id, the state, and the alert`() throws {
    let job =
      #"{"to":{"user":"a"},"title":"Kick-off","sound":"whistle","data":{"x":1},"liveActivity":{"event":"start","id":"m","#
      + #""attributesType":"Match","attributes":{"home":"A"},"contentState":{"score":0},"staleDate":9,"relevanceScore":2.5}}"#
    #expect(
      try payload(job)
        == #"{"aps":{"timestamp":7,"event":"start","attributes-type":"Match","attributes":{"activityId":"m","home":"A"},"#
        + #""input-push-token":1,"content-state":{"score":0},"stale-date":9,"relevance-score":2.5,"#
        + #""alert":{"title":"Kick-off","sound":"whistle"}},"x":1}"#)
  }

  @Test func `the producer's own activityId stays, and no token is asked for if none is wanted`() throws {
    let job =
      #"{"to":{"user":"a"},"body":"b","liveActivity":{"event":"start","id":"m","attributesType":"Match","#
      + #""attributes":{"activityId":"own"},"contentState":{},"requestToken":false}}"#
    #expect(
      try payload(job)
        == #"{"aps":{"timestamp":7,"event":"start","attributes-type":"Match","attributes":{"activityId":"own"},"#
        + #""content-state":{},"alert":{"body":"b"}}}"#)
  }

  @Test func `an end may say when it leaves the screen`() throws {
    let job = #"{"to":{"activity":"m"},"liveActivity":{"event":"end","contentState":{"a":1},"dismissalDate":8}}"#
    #expect(
      try payload(job) == #"{"aps":{"timestamp":7,"event":"end","content-state":{"a":1},"dismissal-date":8}}"#)
  }

  @Test(arguments: [
    (#""event":"update","contentState":{}"#, "", 5), (#""event":"update","contentState":{}"#, #","title":"Goal""#, 10),
    (#""event":"end""#, "", 10), (#""event":"end""#, #","priority":5"#, 5),
  ])
  func `an update without an alert is less urgent, unless the job says otherwise`(
    activity: String, more: String, priority: Int
  ) throws {
    let job = try Job(parsing: Array(#"{"to":{"activity":"m"},"liveActivity":{\#(activity)}\#(more)}"#.utf8))
    #expect(job.priority == priority)
    #expect(job.pushType == .liveactivity)
  }

  @Test func `a start is at most once, with a collapse id of its activity`() throws {
    func start(_ id: String) throws -> Job {
      let activity =
        #""event":"start","id":"\#(id)","attributesType":"M","attributes":{},"contentState":{}"#
      return try Job(parsing: Array(#"{"to":{"user":"a"},"body":"b","liveActivity":{\#(activity)}}"#.utf8))
    }
    #expect(try start("order-7").atMostOnce)
    #expect(try start("order-7").collapseID == "order-7")
    let long = try #require(try start(String(repeating: "x", count: 128)).collapseID)
    #expect(long.utf8.count <= 64)
  }
}
