import Testing

@testable import Simulator

extension LiveActivityPayload {
  /// `fields`: JSON members beside the timestamp and the state.
  init(at timestamp: Int64, _ fields: String = #""event":"update""#, state: String) throws {
    let text = #"{"aps":{"timestamp":\#(timestamp),\#(fields),"content-state":{"state":"\#(state)"}}}"#
    self = try #require(LiveActivityPayload(parsing: Array(text.utf8)))
  }

  /// The members of a start. `input`: its `input-push-…` member.
  static func startFields(_ activity: String = "ride", input: String? = #""input-push-token":1"#) -> String {
    #""event":"start","attributes-type":"Ride","attributes":{"activityId":"\#(activity)"},"alert":{"title":"Go"}"#
      + (input.map { "," + $0 } ?? "")
  }
}
