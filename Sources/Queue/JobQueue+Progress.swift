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
    context.connection.send(RedisCommand("GET", progressKey(claim))) { result in
      completion(
        result.map { value in
          guard let bytes = value.bytes, let line = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
          return AttemptState(json: Array(bytes[(line + 1)...]))
        })
    }
  }

  /// Writes the progress of a broadcast, unless a cursor that is further is stored. The claim of a fenced worker is
  /// fenced.
  public func commitProgress(_ progress: AttemptState, of claim: Claim) {
    let cursor = progress.cursor ?? ""
    let call = QueueScripts.commitProgress(
      progress: progressKey(claim), tombstone: tombstone(claim), cursor: cursor,
      value: Array("\(cursor)\n".utf8) + progress.json(), ttl: JobQueue.progressTimeToLive.milliseconds)
    context.connection.send(call) { [self] result in
      // A commit that fails costs one page that is sent again after a crash: the next commit contains it.
      if case .success(.integer(-1)) = result { fence(claim) }
    }
  }

  /// Removes the progress of a broadcast that has ended, unless another worker was given the job.
  public func clearProgress(of claim: Claim) {
    let call = QueueScripts.clearProgress(progress: progressKey(claim), tombstone: tombstone(claim))
    context.connection.send(call) { _ in }
  }

  private func progressKey(_ claim: Claim) -> String {
    queues[claim.queueIndex].progress(claim.envelope.nonce ?? "")
  }

  private func tombstone(_ claim: Claim) -> String { queues[claim.queueIndex].tombstone(lease.name.value) }
}

extension QueueScripts {
  /// Writes the progress of a broadcast: a line with its cursor, which never goes back, then JSON.
  ///
  /// Only the beginning of what is stored is read: it tells which cursor is further, and the JSON has many devices.
  ///
  /// Returns 1; 0 if the stored cursor is further; -1 if the worker is fenced.
  static let commitProgress = RedisScript(
    keys: ["progress", "tombstone"], arguments: ["cursor", "value", "ttl"],
    """
    if redis.call('EXISTS', tombstone) == 1 then return -1 end
    redis.call('PEXPIRE', progress, ttl)
    local reached = string.match(redis.call('GETRANGE', progress, 0, #cursor), '^[%d~]%C*')
    if reached and reached > cursor then return 0 end
    redis.call('SET', progress, value, 'PX', ttl)
    return 1
    """)

  /// Removes the progress of a broadcast, unless the worker is fenced. Returns the number of keys removed.
  static let clearProgress = RedisScript(
    keys: ["progress", "tombstone"],
    """
    if redis.call('EXISTS', tombstone) == 1 then return 0 end
    return redis.call('DEL', progress)
    """)
}
