import Jobs
import JSON
import Operations
import PushModel
import Registry

/// What a Live Activity shows, which devices it reaches, and what waits.
struct ActivityExplanation: Sendable {
  /// The newest state for all devices, or for those of one user.
  struct State: Sendable, Equatable {
    /// Nil for all.
    var user: Username?
    var job: String
    var isEnd: Bool
    /// Whether it is for everyone who has registered a token.
    var isShared = false
    /// The timestamp that is sent, in unix seconds.
    var timestamp: Int64
    /// `open`, `waiting` or `settled`.
    var phase: String
    /// When the phase began, in unix ms.
    var since: Int64
    /// When a waiting state is given up, in unix ms; nil if it is not known.
    var until: Int64?
    /// Tokens for which APNs accepted it.
    var reached: Int

    var object: JSONObject {
      [
        "user": user?.text, "job": job, "event": isEnd ? "end" : "update",
        "shared": isShared ? true : nil, "timestamp": timestamp, "phase": phase,
        "since": since, "until": until, "reached": reached,
      ]
    }
  }

  /// An update token.
  struct Token: Sendable, Equatable {
    var device: Device
    /// As it is shown: shortened unless whole tokens were asked for.
    var name: String
    /// Whether the activity is known to be its user's, or everyone's.
    var isExpected = true
    /// Whether APNs accepted the newest state for it; nil if there is no state.
    var isCurrent: Bool?

    var object: JSONObject {
      [
        "token": name, "user": device.username?.text, "app": device.bundleID,
        "environment": device.environment?.rawValue,
        "deviceId": device.deviceID, "registeredAt": device.updatedAt, "frequentPushes": device.frequentPushes,
        "current": isCurrent, "stranger": isExpected ? nil : true,
      ]
    }
  }

  /// The outcome in one sentence, and what decides it.
  var summary: AddresseeExplanation
  var states: [State]
  var tokens: [Token]
  /// Devices that a start was sent to.
  var starts: Int
  /// The name of the channel that updates the activity instead of tokens.
  var channel: String?

  var isKnown: Bool { summary.isKnown }

  /// `{"subject","reachable","outcome","findings":[…],"states":[{"user"?,"job","event","shared"?,"timestamp","phase","since",
  /// "until"?,"reached"}…],"tokens":[{"token","user"?,"app"?,"environment"?,"deviceId"?,"registeredAt","frequentPushes"?,
  /// "current"?,"stranger"?}…],"starts","channel"?}`, times in unix ms, `timestamp` in unix seconds.
  var object: JSONObject {
    summary.object + [
      "states": states.map(\.object), "tokens": tokens.map(\.object), "starts": starts, "channel": channel,
    ]
  }
}

extension ActivityExplanation {
  /// Explains an activity from what is known of it. A pure function.
  init(_ facts: ActivityFacts) {
    states = facts.states.map { State($0.user, $0.newest, facts) }
    tokens = facts.devices.map { device in
      let known = ActivityDevice(token: device.token, phone: device.deviceID, user: device.username)
      let newest = facts.state.newest(for: known)
      return Token(
        device: device, name: facts.shown(device.token), isExpected: newest != nil || facts.state.isFor(known),
        isCurrent: newest.map { $0.hasReached(known) })
    }
    starts = facts.state.starts.count
    channel = facts.state.channel
    let isKnown = !states.isEmpty || !tokens.isEmpty || starts > 0
    summary = AddresseeExplanation(
      subject: "Live Activity \(facts.id)", isKnown: isKnown, isReachable: !tokens.isEmpty || channel != nil,
      outcome: "", findings: [])
    summary.outcome = outcome(facts)
    let findings =
      waits(facts) + rate(facts) + hints(facts) + states.map(ActivityExplanation.state) + devices + started(facts)
    summary.findings = findings.bySeverity
  }

  private func outcome(_ facts: ActivityFacts) -> String {
    let subject = summary.subject
    guard summary.isKnown else {
      return "Nothing is known of \(subject): no job has named it in the last 12 hours, and it has no update token."
    }
    guard let newest = states.max(by: { $0.timestamp < $1.timestamp }) else {
      if let channel {
        return "\(subject) was started on \(Words.devices(starts)); "
          + "channel \(channel) updates it, so it has no update token."
      }
      return tokens.isEmpty
        ? "\(subject) was started on \(Words.devices(starts)); the app has registered no update token yet."
        : "\(subject) has \(Words.count(tokens.count, "update token")) and got no state yet."
    }
    let who = newest.user.map { " of user \($0)" } ?? ""
    let what = "The newest state\(who) of \(subject) is that of job \(newest.job)"
    switch newest.phase {
    case ActivityState.Newest.Phase.waiting.rawValue: return "\(what), which waits for an update token."
    case ActivityState.Newest.Phase.open.rawValue: return "\(what), which has not ended."
    default:
      let reached = Words.devices(newest.reached)
      return newest.isEnd
        ? "\(subject) was ended by job \(newest.job); APNs accepted the end for \(reached)."
        : "\(what); APNs accepted it for \(reached)."
    }
  }

  // MARK: - Findings

  private func waits(_ facts: ActivityFacts) -> [Finding] {
    states.filter { $0.phase == ActivityState.Newest.Phase.waiting.rawValue }.map { state in
      if state.user == nil, !state.isShared, starts == 0 {
        let registered = tokens.isEmpty ? "" : " (\(Words.count(tokens.count, "token")) registered)"
        return Finding(
          .problem,
          "No start of it is known, so nobody knows whose it is, and the state of job \(state.job) waits\(registered).",
          since: state.since,
          fix: "Start it by a job, name the user in to.user, or send a state that is for everyone who registered with "
            + "\"shared\": true in liveActivity.")
      }
      let whose = state.user.map { "User \($0) has" } ?? "It has"
      let until = state.until.map { " until \(facts.text.clock($0)) at the latest" } ?? ""
      return Finding(
        .problem, "\(whose) no update token of the activity, so the state of job \(state.job) waits\(until).",
        since: state.since,
        fix: channel.map { "Send the state to the channel \($0), which updates the activity: to.channel." }
          ?? "Let the app register its update token: docs/live-activities.md. The state is sent then.")
    }
  }

  private func rate(_ facts: ActivityFacts) -> [Finding] {
    guard facts.state.isTooOften(now: facts.text.now) else { return [] }
    let count = facts.state.recentUpdates(now: facts.text.now)
    let slow = tokens.count { $0.device.frequentPushes == false }
    let fewer = slow > 0 ? " \(Words.devices(slow)) without frequent updates may show even fewer." : ""
    return [
      Finding(
        .warning, "It got \(count) updates in the last minute. APNs may leave some out: one in 3 seconds is too often.",
        fix: "Send fewer. A device shows only the newest state.\(fewer)")
    ]
  }

  private func hints(_ facts: ActivityFacts) -> [Finding] {
    let payloads = facts.states.map { (job: $0.newest.jobID, hint: LiveActivity.hint(ofPayload: $0.newest.payload)) }
    guard let (job, hint) = payloads.first(where: { $0.hint != nil }), let hint else { return [] }
    return [Finding(.warning, "Job \(job): \(hint)")]
  }

  private static func state(_ state: State) -> Finding {
    let whose = state.user.map { "user \($0)" } ?? "all users"
    let event = state.isEnd ? "an end" : "an update"
    return Finding(
      .fact,
      "The newest state of \(whose), \(event) with the timestamp \(state.timestamp), is that of job \(state.job) "
        + "(\(state.phase)); APNs accepted it for \(Words.devices(state.reached)).",
      since: state.since)
  }

  private var devices: [Finding] {
    tokens.map { token in
      let device = token.device
      var words = [device.bundleID ?? "no app", device.environment?.rawValue ?? "environment unknown"]
      if let phone = device.deviceID { words.append("phone \(phone)") }
      if let frequent = device.frequentPushes { words.append(frequent ? "frequent updates" : "no frequent updates") }
      let owner = device.username.map { "user \($0)" } ?? "nobody"
      let has = token.isCurrent.map { $0 ? " It has the newest state." : " It has not got the newest state." } ?? ""
      let stranger = token.isExpected ? "" : " No start was sent to this user, who gets only states that are shared."
      return Finding(
        .fact,
        "Update token \(token.name) of \(owner) is registered for \(words.joined(separator: ", ")).\(has)\(stranger)",
        since: device.updatedAt, subject: token.name)
    }
  }

  private func started(_ facts: ActivityFacts) -> [Finding] {
    guard starts > 0 else { return [] }
    let first = facts.state.firstStarter.map { ", first by job \($0)" } ?? ""
    return [Finding(.fact, "It was started on \(Words.devices(starts))\(first). None is started twice.")]
  }
}

extension ActivityExplanation.State {
  fileprivate init(_ user: Username?, _ newest: ActivityState.Newest, _ facts: ActivityFacts) {
    let wait = newest.phase == .waiting ? facts.waits[newest.jobID] : nil
    self.init(
      user: user, job: newest.jobID, isEnd: newest.isEnd, isShared: newest.isShared, timestamp: newest.timestamp,
      phase: newest.phase.rawValue,
      since: wait?.since ?? newest.since, until: wait?.until ?? newest.expiresAt, reached: newest.reachedTokens)
  }
}
