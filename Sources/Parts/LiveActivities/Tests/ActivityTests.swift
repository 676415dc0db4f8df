import Jobs
import PushModel

@testable import LiveActivities

/// Tests of what is decided about a Live Activity.
protocol ActivityTests {
  var state: ActivityState { get set }
  /// Unix ms.
  var now: Int64 { get set }
}

extension ActivityTests {
  /// That of a first attempt.
  var turn: AttemptTurn { AttemptTurn() }

  func job(
    _ id: String, at timestamp: Int64, enqueuedAt: Int64? = nil, sequence: String = "", user: String? = nil,
    event: String = "update", nonce: String? = nil, isShared: Bool = true,
    turn: AttemptTurn = AttemptTurn()
  ) throws -> ActivityJob {
    let to = event == "start" ? #"{"user":"\#(user ?? "alice")"}"# : #"{"activity":"match"}"#
    let start = event == "start" ? #","id":"match","attributesType":"Match","attributes":{}"# : ""
    let shared = isShared && event != "start" && user == nil ? #","shared":true"# : ""
    let json =
      #"{"to":\#(to),"title":"T","liveActivity":{"event":"\#(event)","contentState":{"by":"\#(id)"}\#(start)\#(shared)}}"#
    guard case .activity(let activity, let notification) = try Job(parsing: Array(json.utf8)).content else {
      throw JobError(reason: "not a Live Activity")
    }
    return ActivityJob(
      id: id, nonce: nonce ?? "n-" + id, turn: turn, queue: "q", user: user.map { Username($0) },
      order: ActivityOrder(timestamp: timestamp, enqueuedAt: enqueuedAt ?? timestamp * 1000, sequence: sequence),
      activity, notification, priority: 5, expiresAt: nil)
  }

  func device(_ token: String, phone: String? = "p", of user: String? = "alice") -> ActivityDevice {
    ActivityDevice(token: DeviceToken(token), phone: phone, user: user.map { Username($0) })
  }

  func phones(_ names: String..., of user: String = "alice") -> [ActivityDevice] {
    names.map { device("start-" + $0, phone: $0, of: user) }
  }

  func keys(_ names: String...) -> Set<String> { Set(names.flatMap { phones($0) }.map(\.phone)) }

  func reached(_ token: String) -> [String] { [device(token).token, device(token).phone] }

  mutating func announce(_ job: ActivityJob) -> ActivityAnswer { state.decide(.announce(job), now: now) }

  /// The timestamp with which the job's state is sent; nil if it is not sent.
  mutating func sentAt(_ job: ActivityJob) -> Int64? {
    if case .send(let newest, _, _, _, _) = announce(job) { newest.timestamp } else { nil }
  }
}
