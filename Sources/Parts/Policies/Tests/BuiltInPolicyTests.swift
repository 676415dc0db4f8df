import Testing

@testable import Jobs
@testable import Policies

/// The built-in policy of docs/policy.md, rule by rule.
struct BuiltInPolicyTests {
  private static let noon = "2026-06-10 12:00:00"
  private static let night = "2026-06-10 23:30:00"
  private static let morning = "2026-06-11 08:00:00"
  private static let lowClasses = ["attention_ping", "message_delivered"]
  private static let classes = ["attention_ping", "action_needed", "message_delivered", "safety_critical"]

  private func payload(_ job: String) throws -> (payload: String, match: PolicyMatch?) {
    let job = try Job(parsing: Array(job.utf8))
    let match = try PolicyBook.standard.match(job)
    return (String(decoding: try job.apnsPayload(match), as: UTF8.self), match)
  }

  // MARK: - 2 Classes

  @Test(
    arguments: [
      ("attention_ping", .low), ("action_needed", .medium), ("message_delivered", .low), ("safety_critical", .high),
    ] as [(String, PolicyClass.Urgency)])
  func `2: there are four classes, each with its urgency`(name: String, urgency: PolicyClass.Urgency) throws {
    #expect(DeliveryPolicy.builtIn.classes.count == 4)
    #expect(try payload(#"{"to":{"instance":"i"},"class":"\#(name)"}"#).match?.notificationClass.urgency == urgency)
  }

  @Test func `2: an unknown class is refused with the list of known ones`() {
    let error = #expect(throws: JobError.self) { try payload(#"{"to":{"instance":"i"},"class":"atention_ping"}"#) }
    #expect(
      error?.reason == "class: no policy has a class \"atention_ping\"; known are "
        + "action_needed, attention_ping, message_delivered, safety_critical")
  }

  // MARK: - 3 Payload

  @Test(arguments: classes)
  func `3: the payload has exactly the canonical shape, badge 1 and the hint to poll`(name: String) throws {
    let expected =
      #"{"aps":{"alert":{"title":"Nyra","body":"A new update is available."},"badge":1,"sound":"default","#
      + #""content-available":1},"nyra":{"class":"\#(name)","instance_id":"home","hint":"poll"}}"#
    let job = #"{"to":{"instance":"home"},"class":"\#(name)","preview":"A new update is available."}"#
    #expect(try payload(job).payload == expected)
  }

  @Test(arguments: classes)
  func `3: without a preview the body is the short, neutral text of the class`(name: String) throws {
    let (payload, match) = try payload(#"{"to":{"instance":"home"},"class":"\#(name)"}"#)
    let preview = try #require(match?.notificationClass.preview)
    #expect(payload.contains(preview))
    #expect(match?.policy.tone.fault(in: preview) == nil)
  }

  @Test(
    arguments: [
      #""title":"t""#, #""subtitle":"s""#, #""body":"b""#, #""badge":7"#, #""sound":"loud.caf""#,
      #""data":{"event":1}"#,
      #""payload":{}"#, #""category":"REPLY""#, #""mutableContent":true"#, #""threadId":"t""#,
      #""contentAvailable":true"#,
      #""interruptionLevel":"critical""#, #""relevanceScore":1"#,
    ])
  func `3, 10: a job with a class has no other field of a notification`(member: String) {
    #expect(throws: JobError.self) { try payload(#"{"to":{"instance":"i"},"class":"attention_ping",\#(member)}"#) }
  }

  @Test(arguments: [#"{"user":"u"}"#, #"{"token":"aaaaaaaaaaaaaaaaaaaaaaaa"}"#, #"{"app":"com.a"}"#])
  func `10: a job with a class goes to an instance only`(to: String) {
    #expect(throws: JobError(reason: "class: only for a job to an instance")) {
      try payload(#"{"to":\#(to),"class":"attention_ping"}"#)
    }
  }

  // MARK: - 4 Throttling

  @Test func `4.1: a fourth notification of any class within five minutes is suppressed`() {
    var scene = Scene()
    #expect(scene.decide("attention_ping", "a", at: Self.noon) == .send)
    #expect(scene.decide("action_needed", "b", at: Self.noon, plus: 1) == .send)
    #expect(scene.decide("safety_critical", "c", at: Self.noon, plus: 2) == .send)
    #expect(scene.decide("action_needed", "d", at: Self.noon, plus: 3) == .suppress(.limit))
    #expect(scene.decide("safety_critical", "e", at: Self.noon, plus: 200) == .suppress(.limit))
    #expect(scene.decide("action_needed", "f", at: Self.noon, plus: 299.999) == .suppress(.limit))
    #expect(scene.decide("action_needed", "g", at: Self.noon, plus: 300) == .send)
    #expect(scene.decide("action_needed", "h", at: Self.noon, plus: 300.5) == .suppress(.limit))
  }

  @Test func `4.1: a twenty-first notification within 24 hours is suppressed`() {
    var scene = Scene()
    scene.policy.quietHours = nil
    for hour in 0..<20 {
      #expect(scene.decide("action_needed", "\(hour)", at: Self.noon, plus: Double(hour) * 3600) == .send)
    }
    #expect(scene.decide("safety_critical", "x", at: Self.noon, plus: 86_399.999) == .suppress(.limit))
    #expect(scene.decide("safety_critical", "y", at: Self.noon, plus: 86_400) == .send)
    #expect(scene.decide("safety_critical", "z", at: Self.noon, plus: 86_600) == .suppress(.limit))
  }

  @Test func `4.1: a suppressed notification is not counted`() {
    var scene = Scene()
    #expect(scene.decide("attention_ping", "a", at: Self.noon) == .send)
    for second in 1..<60 {
      #expect(
        scene.decide("attention_ping", "\(second)", at: Self.noon, plus: Double(second)) == .suppress(.collapsed))
    }
    #expect(scene.state.grants.count == 1)
    #expect(scene.decide("message_delivered", "b", at: Self.noon, plus: 60) == .send)
  }

  @Test(arguments: lowClasses, lowClasses)
  func `4.2: attention pings and delivered messages share one notification per 60 seconds`(first: String, then: String)
  {
    var scene = Scene()
    #expect(scene.decide(first, "a", at: Self.noon) == .send)
    #expect(scene.decide(then, "b", at: Self.noon, plus: 59.999) == .suppress(.collapsed))
    #expect(scene.decide(then, "c", at: Self.noon, plus: 60) == .send)
  }

  @Test func `4.2: other classes do not collapse with them`() {
    var scene = Scene()
    #expect(scene.decide("attention_ping", "a", at: Self.noon) == .send)
    #expect(scene.decide("action_needed", "b", at: Self.noon, plus: 1) == .send)
    #expect(scene.decide("action_needed", "c", at: Self.noon, plus: 2) == .send)
  }

  @Test func `4.3: critical notifications are at least two minutes apart`() {
    var scene = Scene()
    #expect(scene.decide("safety_critical", "a", at: Self.noon) == .send)
    #expect(scene.decide("safety_critical", "b", at: Self.noon, plus: 61) == .suppress(.spacing))
    #expect(scene.decide("safety_critical", "c", at: Self.noon, plus: 119.999) == .suppress(.spacing))
    #expect(scene.decide("safety_critical", "d", at: Self.noon, plus: 120) == .send)
  }

  @Test func `4.3: a critical notification neither is collapsed nor collapses others`() {
    var scene = Scene()
    #expect(scene.decide("attention_ping", "a", at: Self.noon) == .send)
    #expect(scene.decide("safety_critical", "b", at: Self.noon, plus: 1) == .send)
    #expect(scene.decide("message_delivered", "c", at: Self.noon, plus: 60) == .send)
  }

  // MARK: - 5 Quiet hours

  @Test func `5.1: quiet hours are from 23:00 to 08:00 by default`() {
    var scene = Scene()
    for (wall, decision) in [
      ("2026-06-10 22:59:59", PolicyDecision.send), ("2026-06-10 23:00:00", .suppress(.quietHours)),
      ("2026-06-11 00:00:00", .suppress(.quietHours)), ("2026-06-11 07:59:59", .suppress(.quietHours)),
      (Self.morning, .send),
    ] {
      #expect(scene.decide("action_needed", wall, at: wall) == decision, "\(wall)")
    }
  }

  @Test(arguments: lowClasses)
  func `5.2: in quiet hours the first notification of low urgency is held and the others are suppressed`(name: String) {
    var scene = Scene()
    let end = scene.time(Self.morning)
    #expect(scene.decide(name, "a", at: Self.night) == .deferUntil(end))
    for other in Self.lowClasses {
      #expect(scene.decide(other, "b", at: Self.night, plus: 3600) == .suppress(.collapsed))
    }
    #expect(scene.decide(name, "a", at: Self.morning) == .send)
    #expect(scene.state.held == nil)
    #expect(scene.decide(name, "c", at: Self.morning, plus: 59) == .suppress(.collapsed))
  }

  @Test func `5.2: a held notification is decided again when quiet hours end`() {
    var scene = Scene()
    let end = scene.time(Self.morning)
    #expect(scene.decide("attention_ping", "a", at: Self.night) == .deferUntil(end))
    #expect(scene.decide("message_delivered", "b", at: Self.morning) == .send)
    #expect(scene.decide("attention_ping", "a", at: Self.morning, plus: 1) == .suppress(.collapsed))
    #expect(scene.state.held == nil)
  }

  @Test func `5.2: a notification that expires in quiet hours is suppressed`() {
    var scene = Scene()
    #expect(scene.decide("attention_ping", "a", at: Self.night, expires: Self.morning) == .suppress(.quietHours))
    #expect(scene.state == PolicyState())
    let end = scene.time(Self.morning)
    #expect(scene.decide("attention_ping", "b", at: Self.night, expires: "2026-06-11 08:00:01") == .deferUntil(end))
    #expect(scene.decide("attention_ping", "c", at: Self.night, expires: Self.morning) == .suppress(.quietHours))
  }

  @Test func `5.2: a held job that was lost suppresses nothing the next night`() {
    var scene = Scene()
    #expect(scene.decide("attention_ping", "lost", at: Self.night) == .deferUntil(scene.time(Self.morning)))
    let next = scene.time("2026-06-12 08:00:00")
    #expect(scene.decide("attention_ping", "b", at: "2026-06-11 23:30:00") == .deferUntil(next))
  }

  @Test func `5.2: action_needed is suppressed in quiet hours`() {
    var scene = Scene()
    #expect(scene.decide("action_needed", "a", at: Self.night) == .suppress(.quietHours))
  }

  @Test func `5.2: a critical notification passes in quiet hours, within its limits`() {
    var scene = Scene()
    #expect(scene.decide("safety_critical", "a", at: Self.night) == .send)
    #expect(scene.decide("safety_critical", "b", at: Self.night, plus: 100) == .suppress(.spacing))
    #expect(scene.decide("safety_critical", "c", at: Self.night, plus: 120) == .send)
    #expect(scene.decide("safety_critical", "d", at: Self.night, plus: 240) == .send)
    #expect(scene.decide("safety_critical", "e", at: Self.night, plus: 299) == .suppress(.spacing))
  }

  // MARK: - 7 Social rhythm

  @Test func `7: by default the rhythm changes nothing`() {
    #expect(DeliveryPolicy.builtIn.rhythm == SocialRhythm())
    var scene = Scene()
    #expect(scene.decide("attention_ping", "a", at: "2026-06-10 22:59:59") == .send)
  }

  @Test func `7: notifications of low urgency can be suppressed before quiet hours`() {
    var scene = Scene()
    scene.policy.rhythm.suppressBeforeQuietMinutes = 30
    #expect(scene.decide("attention_ping", "a", at: "2026-06-10 22:29:59") == .send)
    #expect(scene.decide("message_delivered", "b", at: "2026-06-10 22:31:00") == .suppress(.rhythm))
    #expect(scene.decide("action_needed", "c", at: "2026-06-10 22:32:00") == .send)
    #expect(scene.decide("safety_critical", "d", at: "2026-06-10 22:33:00") == .send)
  }

  @Test func `7: collapse windows can be made longer`() {
    var scene = Scene()
    scene.policy.rhythm.collapseSeconds = 600
    #expect(scene.decide("attention_ping", "a", at: Self.noon) == .send)
    #expect(scene.decide("message_delivered", "b", at: Self.noon, plus: 599) == .suppress(.collapsed))
    #expect(scene.decide("message_delivered", "c", at: Self.noon, plus: 600) == .send)
  }

  @Test func `7: notifications of low urgency can be shown as one class, under the rules of their own`() throws {
    var policy = DeliveryPolicy.builtIn
    policy.rhythm.lowClass = "attention_ping"
    let job = try Job(parsing: Array(#"{"to":{"instance":"i"},"class":"message_delivered"}"#.utf8))
    let match = try #require(try PolicyBook([policy]).match(job))
    #expect(match.notificationClass.name == "message_delivered")
    let payload = String(decoding: try job.apnsPayload(match), as: UTF8.self)
    #expect(payload.contains(#""class":"attention_ping""#))
    #expect(payload.contains("There’s something to review"))
  }

  @Test func `7: the rhythm overrides no limit`() {
    var scene = Scene()
    scene.policy.rhythm = SocialRhythm()
    scene.policy.rhythm.lowClass = "attention_ping"
    for (place, job) in ["a", "b", "c"].enumerated() {
      #expect(scene.decide("action_needed", job, at: Self.noon, plus: Double(place)) == .send)
    }
    #expect(scene.decide("message_delivered", "d", at: Self.noon, plus: 4) == .suppress(.limit))
  }

  // MARK: - 9 Failures

  @Test func `9.2: attempts at a job are at least a minute apart`() {
    #expect(DeliveryPolicy.builtIn.retrySeconds >= 60)
  }
}
