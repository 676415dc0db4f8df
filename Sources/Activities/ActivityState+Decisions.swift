import Jobs
import PushModel

extension ActivityState {
  /// A job that has been open for longer than this may be lost, so another one sends its state. In ms.
  static let maximumOpenTime: Int64 = 10 * 60 * 1000
  /// How long an end waits for the pushes of the state before, in ms. A push that takes longer is given up.
  static let maximumWait: Int64 = 20 * 1000

  /// Decides about a request at `now`, in unix ms. A pure function.
  public mutating func decide(_ request: ActivityRequest, now: Int64) -> ActivityAnswer {
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

  private func newest(for user: String?) -> Newest? {
    guard let user else { return all }
    // The state of all is this user's, too, if it may be.
    let isTheirs = all.map { $0.isShared || members.contains(user) || !formerStarts.isEmpty } ?? false
    return ActivityState.newest(of: isTheirs ? all : nil, users[user])
  }

  /// A device ignores a state with an older timestamp than it shows, so those of one second get different ones.
  private func latestTimestamp(for user: String?) -> Int64? {
    let states = user == nil ? [all].compactMap { $0 } + users.values : [newest(for: user)].compactMap { $0 }
    let latest = states.map(\.timestamp).max()
    return startedAt == 0 ? latest : max(startedAt, latest ?? 0)
  }

  private mutating func set(_ newest: Newest, for user: String?) {
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
    let free = devices.filter { device in
      let starter = starts[device.phone] ?? device.formerPhone.flatMap { starts[$0] }
      return starter == nil || starter == job.nonce
    }
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
  private mutating func restart(_ user: String?, _ devices: [ActivityDevice], after ended: Newest) {
    if let user, users[user]?.nonce == ended.nonce {
      users[user] = nil
      for key in devices.flatMap({ [$0.phone, $0.formerPhone ?? $0.phone] }) { starts[key] = nil }
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
  public func hasReached(_ device: ActivityDevice) -> Bool {
    reached.contains(device.token) || (isEnd && reached.contains(device.phone))
  }

  var waitingJob: WaitingJob? { phase == .waiting ? WaitingJob(id: jobID, queue: queue) : nil }
}
