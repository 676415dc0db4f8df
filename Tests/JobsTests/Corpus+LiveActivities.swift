/// Jobs to Live Activities.
extension Corpus {
  private static let start =
    #""liveActivity":{"event":"start","id":"m","attributesType":"App.Match","attributes":{"a":1},"contentState":{}"#
  private static let alert = #""title":"Kick-off""#

  static let validActivities = [
    #"{"to":{"user":"a"},\#(start)},\#(alert)}"#,
    #"{"to":{"user":"a"},\#(start),"requestToken":true},"body":"b","sound":"default","data":{"b":1}}"#,
    #"{"to":{"token":"\#(token)"},\#(start),"inputChannel":"cup-1"},\#(alert)}"#,
    #"{"to":{"tokens":["\#(token)"]},\#(start),"inputChannel":"cup","requestToken":false},\#(alert)}"#,
    #"{"to":{"user":"a"},\#(start),"timestamp":0,"staleDate":100000000000,"relevanceScore":-7.5},\#(alert),"priority":5}"#,
    #"{"to":{"activity":"m"},"liveActivity":{"event":"update","contentState":{"score":"1:0"}}}"#,
    #"{"to":{"activity":"m","user":"a"},"liveActivity":{"event":"update","contentState":{},"staleDate":1}}"#,
    #"{"to":{"token":"\#(token)"},"liveActivity":{"event":"update","contentState":{},"timestamp":1790000000}}"#,
    #"{"to":{"activity":"m"},"liveActivity":{"event":"update","contentState":{}},"title":"Goal","sound":"goal"}"#,
    #"{"to":{"activity":"m"},"liveActivity":{"event":"end"},"pushType":"liveactivity","atMostOnce":false}"#,
    #"{"to":{"activity":"m"},"liveActivity":{"event":"end","contentState":{},"dismissalDate":1},"ttl":60,"priority":5}"#,
    #"{"to":{"activity":"m"},"liveActivity":{"event":"end","shared":true}}"#,
    #"{"to":{"activity":"m","user":"a"},"liveActivity":{"event":"end","shared":false}}"#,
    #"{"to":{"user":"a"},\#(start),"shared":false},\#(alert)}"#,
    #"{"to":{"activity":"m"},"liveActivity":{"event":"end","contentState":null,"id":null,"shared":null}}"#,
    #"{"to":{"user":"a"},\#(start),"inputChannel":null,"requestToken":null,"timestamp":null},\#(alert)}"#,
    #"{"to":{"activity":"m","token":"\#(token)"}}"#,
    #"{"to":{"activity":"m","token":"\#(token)"},"pushType":"liveactivity","ttl":60}"#,
    #"{"to":{"channel":"cup-1"},"liveActivity":{"event":"update","contentState":{}},"priority":1}"#,
    #"{"to":{"channel":"cup_1"},"app":"com.example.app","liveActivity":{"event":"end"},"expiration":0}"#,
  ]

  private static let shared = "only of an update or an end to to.activity without to.user"
  private static let content = "title, body, sound and data"
  private static let newest = "not to a token of an activity, which gets the newest state"

  static let invalidActivities: [(job: String, reason: String)] = [
    // The parts of liveActivity.
    (#"{"to":{"activity":"m"},"liveActivity":1}"#, "liveActivity: expected an object, found a number"),
    (
      #"{"to":{"activity":"m"},"liveActivity":{"contentState":{}}}"#,
      "liveActivity: event is missing; give start, update or end"
    ),
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"stop"}}"#,
      "liveActivity.event: expected one of start, update, end"
    ),
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"end","content-state":{}}}"#,
      #"unknown field "liveActivity.content-state"; did you mean "liveActivity.contentState"?"#
    ),
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"update"}}"#,
      "liveActivity: contentState is missing; update needs it"
    ),
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"update","contentState":[]}}"#,
      "liveActivity.contentState: expected an object, found an array"
    ),
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"update","contentState":{"a":1,"a":2}}}"#,
      #"liveActivity.contentState: duplicate key "a""#
    ),
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"update","contentState":{},"dismissalDate":1}}"#,
      "liveActivity: dismissalDate: only of an end"
    ),
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"end","timestamp":1790000000000}}"#,
      "liveActivity.timestamp: looks like unix milliseconds; give unix seconds, 1790000000"
    ),
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"end","staleDate":100000000001}}"#,
      "liveActivity.staleDate: looks like unix milliseconds; give unix seconds, 100000000"
    ),
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"end","dismissalDate":-1}}"#,
      "liveActivity.dismissalDate: expected an integer from 0 to 253402300799999"
    ),
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"end","relevanceScore":"high"}}"#,
      "liveActivity.relevanceScore: expected a number, found a string"
    ),
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"end","shared":"yes"}}"#,
      "liveActivity.shared: expected true or false, found a string"
    ),
    (
      #"{"to":{"activity":"m","user":"a"},"liveActivity":{"event":"end","shared":true}}"#,
      "liveActivity.shared: \(shared)"
    ),
    (#"{"to":{"token":"\#(token)"},"liveActivity":{"event":"end","shared":true}}"#, "liveActivity.shared: \(shared)"),
    (#"{"to":{"channel":"c"},"liveActivity":{"event":"end","shared":true}}"#, "liveActivity.shared: \(shared)"),
    (#"{"to":{"user":"a"},\#(start),"shared":true},\#(alert)}"#, "liveActivity.shared: \(shared)"),
    // What only a start has.
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"end","id":"m"}}"#,
      "liveActivity: id: only of a start; name the activity in to.activity"
    ),
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"end","attributesType":"Match"}}"#,
      "liveActivity: attributesType: only of a start"
    ),
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"end","requestToken":false}}"#,
      "liveActivity: requestToken: only of a start"
    ),
    (
      #"{"to":{"user":"a"},"liveActivity":{"event":"start","contentState":{}},\#(alert)}"#,
      "liveActivity: id is missing; a start names the activity"
    ),
    (
      #"{"to":{"user":"a"},"liveActivity":{"event":"start","contentState":{},"id":"m"},\#(alert)}"#,
      "liveActivity: attributesType is missing; a start needs it"
    ),
    (
      #"{"to":{"user":"a"},"liveActivity":{"event":"start","contentState":{},"id":"m","attributesType":"M"},\#(alert)}"#,
      "liveActivity: attributes is missing; a start needs it"
    ),
    (
      #"{"to":{"user":"a"},"liveActivity":{"event":"start","id":"m:tokens"}}"#,
      "liveActivity.id: expected 1 to 128 of A-Z a-z 0-9 . _ : -, not ending in :tokens"
    ),
    (
      #"{"to":{"user":"a"},"liveActivity":{"event":"start","attributesType":"A<B>"}}"#,
      "liveActivity.attributesType: expected 1 to 128 letters, digits or any of ._"
    ),
    (
      #"{"to":{"user":"a"},\#(start),"requestToken":true,"inputChannel":"cup"},\#(alert)}"#,
      "liveActivity: requestToken: not together with inputChannel"
    ),
    (#"{"to":{"user":"a"},\#(start)}}"#, "title: missing; the start of a Live Activity needs title or body"),
    // Addressees.
    (
      #"{"to":{"activity":"m"},\#(start)},\#(alert)}"#,
      "to: a start goes to a user or to push-to-start tokens; liveActivity.id names the activity"
    ),
    (
      #"{"to":{"user":"a"},"liveActivity":{"event":"end"}}"#,
      "to: liveActivity end goes to an activity or to tokens of it"
    ),
    (
      #"{"to":{"user":"a","token":"\#(token)"},\#(start)},\#(alert)}"#,
      "to: liveActivity start goes to a user or to push-to-start tokens"
    ),
    (
      #"{"to":{"activity":"m","token":"\#(token)"},"liveActivity":{"event":"end"}}"#,
      "liveActivity: \(newest)"
    ),
    (
      #"{"to":{"activity":"m"}}"#, "liveActivity: missing; a job to an activity updates or ends it"
    ),
    (
      #"{"to":{"activity":"m","user":"a","token":"\#(token)"}}"#,
      "to: expected exactly one of user, token, tokens, instance, app, channel, activity (or user with token, activity with user)"
    ),
    (
      #"{"to":{"activity":"m:tokens"},"liveActivity":{"event":"end"}}"#,
      "to.activity: expected 1 to 128 of A-Z a-z 0-9 . _ : -, not ending in :tokens"
    ),
    (
      #"{"to":{"channel":"cup"},\#(start)},\#(alert)}"#,
      "to: a channel cannot start a Live Activity; name it in liveActivity.inputChannel of a start"
    ),
    (
      #"{"to":{"channel":"cup"}}"#, "liveActivity: missing; a job to a channel updates or ends Live Activities"
    ),
    (
      #"{"to":{"channel":"cup"},"liveActivity":{"event":"end"},"collapseId":"c"}"#,
      "collapseId: not for a channel, which has no such thing"
    ),
    // Beside liveActivity.
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"end"},"badge":1}"#,
      "badge: not together with liveActivity, which takes \(content)"
    ),
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"end"},"sound":"default"}"#,
      "sound: only together with title or body; it is a part of the alert of a Live Activity"
    ),
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"end"},"payload":{}}"#, "payload: not together with liveActivity"
    ),
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"end"},"pushType":"alert"}"#,
      "pushType: a job with liveActivity is a liveactivity"
    ),
    (
      #"{"to":{"activity":"m"},"liveActivity":{"event":"end"},"priority":1}"#,
      "priority: must be 5 or 10 for a Live Activity"
    ),
    (#"{"to":{"activity":"m","token":"\#(token)"},"title":"t"}"#, "title: \(newest)"),
    (#"{"to":{"activity":"m","token":"\#(token)"},"payload":{}}"#, "payload: \(newest)"),
    (
      #"{"to":{"activity":"m","token":"\#(token)"},"pushType":"alert"}"#,
      "pushType: a job to an activity is a liveactivity"
    ),
    (
      #"{"to":{"user":"a"},"title":"t","replyTo":"push:activity:m"}"#,
      "replyTo: keys that begin with push:activity: are Martlet's own; name another list"
    ),
  ]
}
