import Jobs

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
    case .wait(let nonce): wait(nonce, now)
    case .settle(let nonce, let reached): settle(nonce, reached, now)
    case .giveBack(let nonce, let devices): giveBack(nonce, devices)
    case .refresh(let token, let phone, let user, let nonce): refresh(token, phone, user, nonce, now)
    case .reached(let nonce, let token, let phone):
      change(nonce) { newest in
        newest.reached.formUnion([token, phone])
        newest.promises[token] = nil
      }
    }
  }

  // MARK: - Updates and ends

  private mutating func settle(_ nonce: String, _ reached: [String], _ now: Int64) -> ActivityAnswer {
    release(nonce)
    return change(nonce) { newest in
      newest.phase = .settled
      newest.since = now
      newest.reached.formUnion(reached)
    }
  }

  private mutating func announce(_ job: ActivityJob, _ now: Int64) -> ActivityAnswer {
    let known = job.user == nil ? all : newest(for: job.user)
    release(job.nonce)
    if var known, known.nonce == job.nonce {
      if let predecessor = known.predecessor, now - predecessor.at < ActivityState.maximumWait { return .later }
      known.predecessor = nil
      known.phase = .open
      known.since = now
      set(known, for: job.user)
      return send(known, of: job, former: nil, now)
    }
    if let known, known.isEnd || known.order >= job.order, !known.isReplaced(by: job) {
      return .superseded(by: known.jobID)
    }
    if let firstStart, job.order < firstStart.order { return .superseded(by: firstStart.jobID) }
    let timestamp = max(job.order.timestamp, (latestTimestamp(for: job.user) ?? -1) + 1)
    var newest = Newest(
      jobID: job.id, nonce: job.nonce, queue: job.queue, isEnd: job.activity.event == .end, order: job.order,
      timestamp: timestamp, payload: job.activity.apnsPayload(job.notification, timestamp: timestamp),
      priority: job.priority, expiresAt: job.expiresAt, since: now)
    newest.predecessor = newest.isEnd ? known?.inFlight : nil
    set(newest, for: job.user)
    updates = updates.filter { $0 > now / 1000 - ActivityState.budgetTime } + [now / 1000]
    return newest.predecessor == nil ? send(newest, of: job, former: known?.waitingJob, now) : .later
  }

  /// The job has no push in flight: an end need not wait for it.
  private mutating func release(_ nonce: String) {
    if all?.predecessor?.nonce == nonce { all?.predecessor = nil }
    for user in users.keys where users[user]?.predecessor?.nonce == nonce { users[user]?.predecessor = nil }
  }

  private func send(_ newest: Newest, of job: ActivityJob, former: WaitingJob?, _ now: Int64) -> ActivityAnswer {
    let others = job.user == nil ? Set(users.filter { $0.value.order > newest.order }.keys) : []
    return .send(newest, others: others, former: former, isTooOften: isTooOften(now: now))
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

  private mutating func wait(_ nonce: String, _ now: Int64) -> ActivityAnswer {
    let answer = change(nonce) { newest in
      newest.phase = .waiting
      newest.since = now
    }
    guard !has(nonce), let newer = all ?? users.values.max(by: { $0.order < $1.order }) else { return answer }
    return .superseded(by: newer.jobID)
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

  private mutating func start(_ job: ActivityJob, _ devices: [String]) -> ActivityAnswer {
    if let ended = newest(for: job.user), ended.isEnd {
      guard ended.order < job.order else { return .superseded(by: ended.jobID) }
      restart(job.user, devices, after: ended)
    }
    let free = devices.filter { starts[$0] == nil || starts[$0] == job.nonce }
    guard !free.isEmpty || devices.isEmpty else { return .duplicate }
    guard starts.count + free.count(where: { starts[$0] == nil }) <= ActivityState.maximumStarts else {
      return .tooManyStarts
    }
    for device in free { starts[device] = job.nonce }
    if firstStart.map({ job.order < $0.order }) ?? true {
      firstStart = Start(jobID: job.id, order: job.order, channel: job.activity.start?.inputChannel)
    }
    startedAt = max(startedAt, job.order.timestamp)
    return .start(timestamp: job.order.timestamp, devices: Set(free))
  }

  /// The activity begins once more, under the same id.
  private mutating func restart(_ user: String?, _ devices: [String], after ended: Newest) {
    if let user, users[user]?.nonce == ended.nonce {
      users[user] = nil
      for device in devices { starts[device] = nil }
    } else {
      self = ActivityState()
    }
  }

  private mutating func giveBack(_ nonce: String, _ devices: [String]) -> ActivityAnswer {
    for device in devices where starts[device] == nonce { starts[device] = nil }
    return .done
  }

  // MARK: - Tokens

  private mutating func refresh(
    _ token: String, _ phone: String, _ user: String?, _ nonce: String, _ now: Int64
  ) -> ActivityAnswer {
    guard let newest = newest(for: user) else { return .done }
    if let expiresAt = newest.expiresAt, expiresAt <= now { return .done }
    switch newest.phase {
    case .waiting: return newest.waitingJob.map { .wake($0) } ?? .done
    case .open where now - newest.since < ActivityState.maximumOpenTime: return .later
    case .open, .settled: break
    }
    guard !newest.hasReached(token, phone) else { return .superseded(by: newest.jobID) }
    if let promise = newest.promises[token], promise.nonce != nonce, now - promise.at < ActivityState.maximumOpenTime {
      return .later
    }
    _ = change(newest.nonce) { $0.promises[token] = Promise(nonce: nonce, at: now) }
    return .newest(newest)
  }
}

extension ActivityState.Newest {
  /// What may have pushes in flight; nil if nothing has.
  fileprivate var inFlight: ActivityState.Promise? {
    let times = promises.values.map(\.at) + (phase == .open ? [since] : [])
    return times.max().map { ActivityState.Promise(nonce: nonce, at: $0) }
  }

  /// Whether the queue may have replaced the job of the state, which is scheduled, with this one of the same id: nobody else sends
  /// the state then.
  fileprivate func isReplaced(by job: ActivityJob) -> Bool { phase == .waiting && jobID == job.id }

  /// Whether APNs has accepted the state for the token. An end that it has accepted for the phone is not sent to another token of it.
  public func hasReached(_ token: String, _ phone: String) -> Bool {
    reached.contains(token) || (isEnd && reached.contains(phone))
  }

  var waitingJob: WaitingJob? { phase == .waiting ? WaitingJob(id: jobID, queue: queue) : nil }
}
