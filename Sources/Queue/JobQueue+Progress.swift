import EventLoop
public import Jobs
public import Redis

/// The progress of broadcasts: how far each has come, for the worker that continues it after a crash.
extension JobQueue {
  /// How long the progress of a broadcast is kept if no worker continues it.
  private static let progressTimeToLive = Duration.seconds(7 * 24 * 3600)

  /// Reads the progress of a broadcast. Nil if no page was committed yet.
  public func loadProgress(
    of claim: Claim, _ completion: @escaping @EventLoop (Result<AttemptState?, RedisError>) -> Void
  ) {
    let keys = keys(of: claim)
    context.connection.send(RedisCommand("MGET", keys.progress, keys.list)) { result in
      completion(
        result.map { value in
          guard let values = value.array, let bytes = values.first?.bytes,
            let line = bytes.firstIndex(of: UInt8(ascii: "\n"))
          else { return nil }
          var state = AttemptState(json: Array(bytes[(line + 1)...]))
          // An earlier version wrote the list with the rest.
          if state.result?.results.isEmpty == true, let list = values.last?.bytes.flatMap(JobResult.init(parsing:)) {
            state.result?.results = list.results
          }
          return state
        })
    }
  }

  /// Writes the progress of a broadcast, unless a cursor that is further is stored. The claim of a fenced worker is
  /// fenced.
  ///
  /// The devices that its result lists are written only if `changesList`, as most pages of a broadcast do not change them.
  /// `onFailure` is called if Redis has not written it.
  public func commitProgress(
    _ progress: AttemptState, changesList: Bool, of claim: Claim, onFailure: @escaping @EventLoop () -> Void
  ) {
    let (keys, cursor) = (keys(of: claim), progress.cursor ?? "")
    var rest = progress
    rest.result?.results = []
    let call = QueueScripts.commitProgress(
      progress: keys.progress, list: keys.list, tombstone: keys.tombstone, cursor: cursor,
      value: Array("\(cursor)\n".utf8) + rest.json(), listed: changesList ? progress.result?.json() ?? [] : [],
      ttl: JobQueue.progressTimeToLive.milliseconds)
    context.connection.send(call) { [self] result in
      // A commit that fails costs one page that is sent again after a crash: the next commit contains it.
      switch result {
      case .success(.integer(-1)): fence(claim)
      case .success: break
      case .failure: onFailure()
      }
    }
  }

  /// Removes the progress of a broadcast that has ended, unless another worker was given the job.
  public func clearProgress(of claim: Claim) {
    let keys = keys(of: claim)
    let call = QueueScripts.clearProgress(progress: keys.progress, list: keys.list, tombstone: keys.tombstone)
    context.connection.send(call) { _ in }
  }

  private func keys(of claim: Claim) -> (progress: String, list: String, tombstone: String) {
    let (keys, nonce) = (queues[claim.queueIndex], claim.envelope.nonce ?? "")
    return (keys.progress(nonce), keys.progressList(nonce), keys.tombstone(lease.name.value))
  }
}

extension QueueScripts {
  /// Writes the progress of a broadcast: a line with its cursor, which never goes back, then JSON. Only the line of what is
  /// stored is read.
  ///
  /// - `listed`: empty if the list stays as it is.
  ///
  /// Returns 1; 0 if the stored cursor is further; -1 if the worker is fenced.
  static let commitProgress = RedisScript(
    keys: ["progress", "list", "tombstone"], arguments: ["cursor", "value", "listed", "ttl"],
    """
    if redis.call('EXISTS', tombstone) == 1 then return -1 end
    redis.call('PEXPIRE', progress, ttl)
    redis.call('PEXPIRE', list, ttl)
    local reached = string.match(redis.call('GETRANGE', progress, 0, #cursor), '^[%d~]%C*')
    if reached and reached > cursor then return 0 end
    redis.call('SET', progress, value, 'PX', ttl)
    if listed ~= '' then redis.call('SET', list, listed, 'PX', ttl) end
    return 1
    """)

  /// Removes the progress of a broadcast, unless the worker is fenced. Returns the number of keys removed.
  static let clearProgress = RedisScript(
    keys: ["progress", "list", "tombstone"],
    """
    if redis.call('EXISTS', tombstone) == 1 then return 0 end
    return redis.call('DEL', progress, list)
    """)
}
