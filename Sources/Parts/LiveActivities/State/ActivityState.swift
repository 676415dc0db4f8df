import Jobs
import JSON
import PushModel

/// What the fleet knows of a Live Activity: the value of `push:activity:<id>`.
struct ActivityState: Sendable, Equatable {
  /// Users with a state of their own, at most. The one that is older than all others leaves.
  static let maximumUsers = 100
  /// Devices that a start was sent to, at most.
  static let maximumStarts = 1000
  /// How long a state is kept after its last change, in ms: an activity is shown for 12 hours at most.
  static let lifetime: Int64 = 12 * 3600 * 1000
  /// Updates in ``budgetTime`` after which APNs may leave some out: one in three seconds.
  static let budget = 20
  /// Unix seconds.
  static let budgetTime: Int64 = 60

  /// The newest state for all devices, or for those of one user.
  struct Newest: Sendable, Equatable {
    enum Phase: String, Sendable {
      /// The job is in a worker's hands, or is to be retried.
      case open
      /// The activity has no update token. The job is scheduled.
      case waiting
      /// The job has ended.
      case settled
    }

    /// The job that brought the state.
    let jobID: String
    let nonce: String
    /// Of the attempt that has it.
    var turn = AttemptTurn()
    let queue: String
    let isEnd: Bool
    /// Whether it is for everyone who has registered a token of the activity.
    let isShared: Bool
    let order: ActivityOrder
    /// The timestamp that is sent, in unix seconds. Later than those of all states before.
    let timestamp: Int64
    let payload: [UInt8]
    let priority: Int
    /// Unix milliseconds; nil if the state does not expire.
    let expiresAt: Int64?
    var phase = Phase.open
    /// When the phase began, in unix ms.
    var since: Int64
    /// ``ActivityDevice/token`` and ``ActivityDevice/phone`` of those for which APNs accepted the state.
    var reached: Set<String> = []
    /// Of the tokens to which other jobs than the state's own are sending it.
    var promises: [String: Promise] = [:]
    /// Of an end: the jobs that may have pushes of the state before in flight. One that arrived after the end would be shown.
    var predecessors: [Promise] = []
  }

  struct Promise: Sendable, Equatable {
    /// Of the job that is sending, and of its attempt.
    let nonce: String
    let turn: AttemptTurn
    /// Unix milliseconds.
    let at: Int64
  }

  /// The first start of the activity.
  struct Start: Sendable, Equatable {
    let jobID: String
    let order: ActivityOrder
    /// The name of the channel that updates the activity; nil if it gets tokens.
    var channel: String?
  }

  var all: Newest?
  var users: [Username: Newest] = [:]
  var firstStart: Start?
  /// The latest timestamp of a start, in unix seconds.
  var startedAt: Int64 = 0
  /// The nonce of the job that has started the activity on a phone, by ``ActivityDevice/phone``.
  var starts: [String: String] = [:]
  /// Of the jobs in ``starts``, the attempts that are not first ones, by the nonce.
  var startTurns: [String: AttemptTurn] = [:]
  /// The users for whom a start was sent: the states of the activity are theirs.
  var members: Set<Username> = []
  /// Unix seconds of the updates in ``budgetTime``.
  var updates: [Int64] = []

  init() {}

  /// The state that a device should show; nil if there is none that is for its user.
  func newest(for device: ActivityDevice) -> Newest? {
    let isForDevice = all.map { audience(of: $0, user: nil).includes(device) } ?? false
    return ActivityState.newest(of: isForDevice ? all : nil, device.user.flatMap { users[$0] })
  }

  /// Whether the activity is known to be that of the device's user: a start was sent, or a job has named the user.
  func isFor(_ device: ActivityDevice) -> Bool {
    ActivityAudience.users(members.union(users.keys)).includes(device)
  }

  static func newest(of all: Newest?, _ own: Newest?) -> Newest? {
    guard let all, let own else { return all ?? own }
    return own.order > all.order ? own : all
  }

  /// Whose a state is. `user`: the one whom its job names; nil for none.
  func audience(of newest: Newest, user: Username?) -> ActivityAudience {
    if newest.isShared { return .everyone }
    return .users(user.map { [$0] } ?? members)
  }
}

extension ActivityState {
  /// A job that has been open for longer than this may be lost, so another one sends its state. In ms.
  static let maximumOpenTime: Int64 = 10 * 60 * 1000
  /// How long an end waits for the pushes of the state before, in ms. A push that takes longer is given up.
  static let maximumWait: Int64 = 20 * 1000

  /// Decides about a request at `now`, in unix ms. A pure function.
  mutating func decide(_ request: ActivityRequest, now: Int64) -> ActivityAnswer {
    switch request {
    case .announce(let job): announce(job, now)
    case .start(let job, let devices): start(job, devices)
    case .wait(let nonce, let turn): wait(nonce, turn, now)
    case .pause(let nonce, let turn): release(nonce, turn)
    case .settle(let nonce, let turn, let reached): settle(nonce, turn, reached, now)
    case .giveBack(let nonce, let turn, let phones): giveBack(nonce, turn, phones)
    case .refresh(let device, let nonce, let turn): refresh(device, nonce, turn, now)
    case .settleRefresh(let nonce, let turn, let state, let reached): settleRefresh(nonce, turn, of: state, reached)
    }
  }

  // MARK: - Updates and ends

  private mutating func settle(
    _ nonce: String, _ turn: AttemptTurn, _ reached: [String], _ now: Int64
  ) -> ActivityAnswer {
    release(nonce, turn)
    return change(nonce) { newest in
      newest.reached.formUnion(reached)
      guard newest.turn <= turn else { return }
      newest.phase = .settled
      newest.since = now
    }
  }

  private mutating func announce(_ job: ActivityJob, _ now: Int64) -> ActivityAnswer {
    release(job.nonce, job.turn)
    let known = newest(for: job.user)
    if let firstStart, job.order < firstStart.order, known?.isSent(besides: job) != true {
      if known?.nonce == job.nonce { remove(job.nonce) }
      return .superseded(by: firstStart.jobID)
    }
    if var known, known.nonce == job.nonce {
      // A later attempt has the state.
      guard known.turn <= job.turn else { return .superseded(by: known.jobID) }
      guard known.predecessors.allSatisfy({ now - $0.at >= ActivityState.maximumWait }) else { return .later }
      known.predecessors = []
      known.turn = job.turn
      known.phase = .open
      known.since = now
      set(known, for: job.user)
      return send(known, of: job, former: nil, now)
    }
    if let known, known.isEnd || known.order >= job.order, !known.isReplaced(by: job) {
      return .superseded(by: known.jobID)
    }
    let timestamp = max(job.order.timestamp, (latestTimestamp(for: job.user) ?? -1) + 1)
    var newest = Newest(
      jobID: job.id, nonce: job.nonce, turn: job.turn, queue: job.queue, isEnd: job.activity.event == .end,
      isShared: job.activity.isShared,
      order: job.order,
      timestamp: timestamp, payload: job.activity.apnsPayload(job.notification, timestamp: timestamp),
      priority: job.priority, expiresAt: job.expiresAt, since: now)
    newest.predecessors = newest.isEnd ? known?.inFlight ?? [] : []
    set(newest, for: job.user)
    updates = updates.filter { $0 > now / 1000 - ActivityState.budgetTime } + [now / 1000]
    return newest.predecessors.isEmpty ? send(newest, of: job, former: known?.waitingJob, now) : .later
  }

  /// The job has no push in flight: an end need not wait for it.
  @discardableResult
  private mutating func release(_ nonce: String, _ turn: AttemptTurn) -> ActivityAnswer {
    all?.predecessors.removeAll { $0.isOf(nonce, turn) }
    for user in users.keys { users[user]?.predecessors.removeAll { $0.isOf(nonce, turn) } }
    return .done
  }

  private func send(_ newest: Newest, of job: ActivityJob, former: WaitingJob?, _ now: Int64) -> ActivityAnswer {
    let others = job.user == nil ? Set(users.filter { $0.value.order > newest.order }.keys) : []
    return .send(
      newest, to: audience(of: newest, user: job.user), others: others, former: former, isTooOften: isTooOften(now: now)
    )
  }

  private func newest(for user: Username?) -> Newest? {
    guard let user else { return all }
    // The state of all is this user's, too, if it may be.
    let isTheirs = all.map { $0.isShared || members.contains(user) } ?? false
    return ActivityState.newest(of: isTheirs ? all : nil, users[user])
  }

  /// A device ignores a state with an older timestamp than it shows, so those of one second get different ones.
  private func latestTimestamp(for user: Username?) -> Int64? {
    let states = user == nil ? [all].compactMap { $0 } + users.values : [newest(for: user)].compactMap { $0 }
    let latest = states.map(\.timestamp).max()
    return startedAt == 0 ? latest : max(startedAt, latest ?? 0)
  }

  private mutating func set(_ newest: Newest, for user: Username?) {
    guard let user else {
      all = newest
      users = users.filter { $0.value.order > newest.order }
      return
    }
    // The state of all users may be the newest one of this user.
    if all?.nonce == newest.nonce { all = newest } else { users[user] = newest }
    if users.count > ActivityState.maximumUsers, let oldest = users.min(by: { $0.value.order < $1.value.order }) {
      users[oldest.key] = nil
    }
  }

  private mutating func wait(_ nonce: String, _ turn: AttemptTurn, _ now: Int64) -> ActivityAnswer {
    let answer = change(nonce) { newest in
      guard newest.turn <= turn else { return }
      newest.phase = .waiting
      newest.since = now
    }
    guard !has(nonce), let newer = all ?? users.values.max(by: { $0.order < $1.order }) else { return answer }
    return .superseded(by: newer.jobID)
  }

  private mutating func remove(_ nonce: String) {
    if all?.nonce == nonce { all = nil }
    users = users.filter { $0.value.nonce != nonce }
  }

  private func has(_ nonce: String) -> Bool { all?.nonce == nonce || users.values.contains { $0.nonce == nonce } }

  private mutating func change(_ nonce: String, _ body: (inout Newest) -> Void) -> ActivityAnswer {
    if var newest = all, newest.nonce == nonce {
      body(&newest)
      all = newest
    }
    for (user, newest) in users where newest.nonce == nonce {
      var newest = newest
      body(&newest)
      users[user] = newest
    }
    return .done
  }

  // MARK: - Starts

  private mutating func start(_ job: ActivityJob, _ devices: [ActivityDevice]) -> ActivityAnswer {
    if let ended = ActivityState.newest(of: all, job.user.flatMap { users[$0] }), ended.isEnd {
      guard ended.order < job.order else { return .superseded(by: ended.jobID) }
      restart(job.user, devices, after: ended)
    }
    let free = devices.filter { starts[$0.phone] ?? job.nonce == job.nonce }
    let phones = Set(free.map(\.phone))
    guard !free.isEmpty || devices.isEmpty else { return .duplicate }
    guard starts.count + phones.count(where: { starts[$0] == nil }) <= ActivityState.maximumStarts else {
      return .tooManyStarts
    }
    for phone in phones { starts[phone] = job.nonce }
    if job.turn > startTurns[job.nonce] ?? AttemptTurn() { startTurns[job.nonce] = job.turn }
    members.formUnion(free.compactMap(\.user))
    if firstStart.map({ job.order < $0.order }) ?? true {
      firstStart = Start(jobID: job.id, order: job.order, channel: job.activity.start?.inputChannel)
    }
    startedAt = max(startedAt, job.order.timestamp)
    return .start(timestamp: job.order.timestamp, phones: phones)
  }

  /// The activity begins once more, under the same id.
  private mutating func restart(_ user: Username?, _ devices: [ActivityDevice], after ended: Newest) {
    if let user, users[user]?.nonce == ended.nonce {
      users[user] = nil
      for device in devices { starts[device.phone] = nil }
    } else {
      self = ActivityState()
    }
  }

  private mutating func giveBack(_ nonce: String, _ turn: AttemptTurn, _ phones: [String]) -> ActivityAnswer {
    // A later attempt may have started the activity there.
    guard startTurns[nonce] ?? AttemptTurn() <= turn else { return .done }
    for phone in phones where starts[phone] == nonce { starts[phone] = nil }
    return .done
  }

  // MARK: - Tokens

  private mutating func settleRefresh(
    _ nonce: String, _ turn: AttemptTurn, of state: String, _ reached: [String]
  ) -> ActivityAnswer {
    release(nonce, turn)
    return change(state) { newest in
      newest.promises = newest.promises.filter { !$0.value.isOf(nonce, turn) }
      newest.reached.formUnion(reached)
    }
  }

  private mutating func refresh(
    _ device: ActivityDevice, _ nonce: String, _ turn: AttemptTurn, _ now: Int64
  ) -> ActivityAnswer {
    release(nonce, turn)
    guard let newest = newest(for: device) else { return .done }
    if let expiresAt = newest.expiresAt, expiresAt <= now { return .done }
    switch newest.phase {
    case .waiting: return newest.waitingJob.map { .wake($0) } ?? .done
    case .open where now - newest.since < ActivityState.maximumOpenTime: return .later
    case .open, .settled: break
    }
    guard !newest.hasReached(device) else { return .superseded(by: newest.jobID) }
    if let promise = newest.promises[device.token], promise.nonce != nonce,
      now - promise.at < ActivityState.maximumOpenTime
    {
      return .later
    }
    _ = change(newest.nonce) { $0.promises[device.token] = Promise(nonce: nonce, turn: turn, at: now) }
    return .newest(newest)
  }
}

extension ActivityState.Promise {
  /// Whether it is of this attempt at the job, or of an earlier one.
  fileprivate func isOf(_ nonce: String, _ turn: AttemptTurn) -> Bool { self.nonce == nonce && self.turn <= turn }
}

extension ActivityState.Newest {
  /// The jobs that may have pushes of the state in flight.
  fileprivate var inFlight: [ActivityState.Promise] {
    promises.values + (phase == .open ? [ActivityState.Promise(nonce: nonce, turn: turn, at: since)] : [])
  }

  /// Whether there is more to say of a job that is older than the first start: this is the state of another one, or APNs has
  /// accepted it for a device.
  fileprivate func isSent(besides job: ActivityJob) -> Bool { nonce != job.nonce || !reached.isEmpty }

  /// Whether the queue may have replaced the job of the state, which is scheduled, with this one of the same id: nobody else sends
  /// the state then.
  fileprivate func isReplaced(by job: ActivityJob) -> Bool { phase == .waiting && jobID == job.id }

  /// Whether APNs has accepted the state for the token. An end that it has accepted for the phone is not sent to another token of it.
  func hasReached(_ device: ActivityDevice) -> Bool {
    reached.contains(device.token) || (isEnd && reached.contains(device.phone))
  }

  var waitingJob: WaitingJob? { phase == .waiting ? WaitingJob(id: jobID, queue: queue) : nil }
}

/// What explanations tell of an activity beside its states.
extension ActivityState {
  /// The job that started the activity first; nil if none is known.
  var firstStarter: String? { firstStart?.jobID }

  /// The name of the channel that updates the activity, which has no update token then; nil if it gets tokens, or none is known.
  var channel: String? { firstStart?.channel }

  /// How many updates and ends there were in the last minute. `now` is in unix ms.
  func recentUpdates(now: Int64) -> Int { updates.count { $0 > now / 1000 - ActivityState.budgetTime } }

  /// Whether APNs may have left some of them out.
  func isTooOften(now: Int64) -> Bool { recentUpdates(now: now) > ActivityState.budget }
}

extension ActivityState.Newest {
  /// How many tokens APNs accepted the state for.
  var reachedTokens: Int { reached.count { !ActivityDevice.isPhone($0) } }
}

extension ActivityState {
  /// Bytes that cannot be read give an empty state.
  init(json bytes: [UInt8]) {
    guard !bytes.isEmpty, let value = try? JSONValue(parsing: bytes) else { return }
    all = value["all"].flatMap(Newest.init)
    for member in value["users"]?.members ?? [] {
      let user = Username(member.key)
      users[user] = ActivityState.newest(of: users[user], Newest(member.value))
    }
    if let start = value["firstStart"], let id = start["job"]?.string, let order = ActivityOrder(start["order"]) {
      firstStart = Start(jobID: id, order: order, channel: start["channel"]?.string)
    }
    startedAt = value["startedAt"]?.time ?? 0
    for member in value["starts"]?.members ?? [] { starts[member.key] = member.value.string }
    for member in value["startTurns"]?.members ?? [] { startTurns[member.key] = AttemptTurn(member.value.string) }
    members = Set((value["members"]?.array ?? []).compactMap(\.string).map { Username($0) })
    updates = (value["updates"]?.array ?? []).compactMap(\.time)
    renamePhones()
  }

  /// Gives the phones that an earlier version has stored their present keys.
  private mutating func renamePhones() {
    let known = members.union(users.keys)
    func key(_ stored: String) -> String? { ActivityDevice.key(stored: stored, users: known) }
    func renamed(_ newest: Newest) -> Newest {
      var newest = newest
      newest.reached = Set(newest.reached.compactMap(key))
      return newest
    }
    starts = [String: String](starts.compactMap { start in key(start.key).map { ($0, start.value) } }) { $1 }
    all = all.map(renamed)
    users = users.mapValues(renamed)
  }

  func json() -> [UInt8] {
    let object: JSONObject = [
      "all": all,
      "users": users.isEmpty ? nil : JSONObject([String: Newest](users.map { ($0.key.text, $0.value) }) { $1 }),
      "firstStart": firstStart, "startedAt": startedAt == 0 ? nil : startedAt,
      "starts": starts.isEmpty ? nil : JSONObject(starts),
      "startTurns": startTurns.isEmpty ? nil : JSONObject(startTurns.compactMapValues(\.text)),
      "members": members.sorted().map(\.text),
      "updates": updates.isEmpty ? nil : updates,
    ]
    return object.bytes
  }
}

extension ActivityOrder: JSONWritable {
  init?(_ value: JSONValue?) {
    guard let value, let timestamp = value["timestamp"]?.time, let enqueuedAt = value["enqueuedAt"]?.time else {
      return nil
    }
    self.init(timestamp: timestamp, enqueuedAt: enqueuedAt, sequence: value["sequence"]?.string ?? "")
  }

  func write(to writer: inout JSONWriter) {
    let object: JSONObject = ["timestamp": timestamp, "enqueuedAt": enqueuedAt, "sequence": sequence]
    object.write(to: &writer)
  }
}

extension ActivityState.Start: JSONWritable {
  func write(to writer: inout JSONWriter) {
    let object: JSONObject = ["job": jobID, "order": order, "channel": channel]
    object.write(to: &writer)
  }
}

extension ActivityState.Promise: JSONWritable {
  init?(_ value: JSONValue) {
    guard let nonce = value["nonce"]?.string, let at = value["at"]?.time else { return nil }
    self.init(nonce: nonce, turn: AttemptTurn(value["turn"]?.string), at: at)
  }

  func write(to writer: inout JSONWriter) {
    let object: JSONObject = ["nonce": nonce, "turn": turn.text, "at": at]
    object.write(to: &writer)
  }
}

extension ActivityState.Newest: JSONWritable {
  init?(_ value: JSONValue) {
    guard let job = value["job"]?.string, let order = ActivityOrder(value["order"]),
      let timestamp = value["timestamp"]?.time, let payload = value["payload"]?.string
    else { return nil }
    self.init(
      jobID: job, nonce: value["nonce"]?.string ?? "", turn: AttemptTurn(value["turn"]?.string),
      queue: value["queue"]?.string ?? "",
      isEnd: value["isEnd"]?.bool ?? false, isShared: value["shared"]?.bool ?? false, order: order,
      timestamp: timestamp, payload: Array(payload.utf8),
      priority: Int(value["priority"]?.integer(in: 1...10) ?? 10), expiresAt: value["expiresAt"]?.time,
      phase: value["phase"]?.string.flatMap(Phase.init) ?? .settled, since: value["since"]?.time ?? 0,
      reached: Set((value["reached"]?.array ?? []).compactMap(\.string)))
    for member in value["promises"]?.members ?? [] { promises[member.key] = ActivityState.Promise(member.value) }
    predecessors = (value["predecessors"]?.array ?? []).compactMap(ActivityState.Promise.init)
  }

  func write(to writer: inout JSONWriter) {
    let object: JSONObject = [
      "job": jobID, "nonce": nonce, "turn": turn.text, "queue": queue, "isEnd": isEnd, "shared": isShared ? true : nil,
      "order": order,
      "timestamp": timestamp,
      "payload": String(decoding: payload, as: UTF8.self), "priority": priority, "expiresAt": expiresAt,
      "phase": phase.rawValue, "since": since, "reached": reached.sorted(),
      "promises": promises.isEmpty ? nil : JSONObject(promises),
      "predecessors": predecessors.isEmpty ? nil : predecessors,
    ]
    object.write(to: &writer)
  }
}
