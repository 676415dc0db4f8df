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
    case .pause(let nonce): release(nonce)
    case .settle(let nonce, let reached): settle(nonce, reached, now)
    case .giveBack(let nonce, let phones): giveBack(nonce, phones)
    case .refresh(let device, let nonce): refresh(device, nonce, now)
    case .settleRefresh(let nonce, let state, let reached): settleRefresh(nonce, of: state, reached)
    }
  }

  // MARK: - Updates and ends

  private mutating func settle(_ nonce: String, _ reached: [String], _ now: Int64) -> ActivityAnswer {
    _ = release(nonce)
    return change(nonce) { newest in
      newest.phase = .settled
      newest.since = now
      newest.reached.formUnion(reached)
    }
  }

  private mutating func announce(_ job: ActivityJob, _ now: Int64) -> ActivityAnswer {
    _ = release(job.nonce)
    let known = newest(for: job.user)
    if var known, known.nonce == job.nonce {
      guard known.predecessors.allSatisfy({ now - $0.at >= ActivityState.maximumWait }) else { return .later }
      known.predecessors = []
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
      jobID: job.id, nonce: job.nonce, queue: job.queue, isEnd: job.activity.event == .end,
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
  private mutating func release(_ nonce: String) -> ActivityAnswer {
    all?.predecessors.removeAll { $0.nonce == nonce }
    for user in users.keys { users[user]?.predecessors.removeAll { $0.nonce == nonce } }
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

  private mutating func giveBack(_ nonce: String, _ phones: [String]) -> ActivityAnswer {
    for phone in phones where starts[phone] == nonce { starts[phone] = nil }
    return .done
  }

  // MARK: - Tokens

  private mutating func settleRefresh(_ nonce: String, of state: String, _ reached: [String]) -> ActivityAnswer {
    _ = release(nonce)
    return change(state) { newest in
      newest.promises = newest.promises.filter { $0.value.nonce != nonce }
      newest.reached.formUnion(reached)
    }
  }

  private mutating func refresh(_ device: ActivityDevice, _ nonce: String, _ now: Int64) -> ActivityAnswer {
    _ = release(nonce)
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
    _ = change(newest.nonce) { $0.promises[device.token] = Promise(nonce: nonce, at: now) }
    return .newest(newest)
  }
}

extension ActivityState.Newest {
  /// The jobs that may have pushes of the state in flight.
  fileprivate var inFlight: [ActivityState.Promise] {
    promises.values + (phase == .open ? [ActivityState.Promise(nonce: nonce, at: since)] : [])
  }

  /// Whether the queue may have replaced the job of the state, which is scheduled, with this one of the same id: nobody else sends
  /// the state then.
  fileprivate func isReplaced(by job: ActivityJob) -> Bool { phase == .waiting && jobID == job.id }

  /// Whether APNs has accepted the state for the token. An end that it has accepted for the phone is not sent to another token of it.
  public func hasReached(_ device: ActivityDevice) -> Bool {
    reached.contains(device.token) || (isEnd && reached.contains(device.phone))
  }

  var waitingJob: WaitingJob? { phase == .waiting ? WaitingJob(id: jobID, queue: queue) : nil }
}
