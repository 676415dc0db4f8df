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
    context.connection.call(QueueScripts.commitProgress, keys: progressKeys(claim)) { command in
      command.append(progress.cursor ?? "")
      command.append(progress.json())
      command.append(JobQueue.progressTimeToLive.milliseconds)
    } _: { [self] result in
      // A commit that fails costs one page that is sent again after a crash: the next commit contains it.
      if case .success(.integer(-1)) = result { fence(claim) }
    }
  }

  /// Removes the progress of a broadcast that has ended, unless another worker was given the job.
  public func clearProgress(of claim: Claim) {
    context.connection.run(QueueScripts.clearProgress, keys: progressKeys(claim)) { _ in }
  }

  private func progressKey(_ claim: Claim) -> String {
    queues[claim.queueIndex].progress(claim.envelope.nonce ?? "")
  }

  private func progressKeys(_ claim: Claim) -> [String] {
    [progressKey(claim), queues[claim.queueIndex].tombstone(lease.name.value)]
  }
}

extension QueueScripts {
  /// Writes the progress of a broadcast; its cursor never goes back.
  ///
  /// KEYS
  ///   1  the progress
  ///   2  the tombstone
  /// ARGV
  ///   1  the cursor
  ///   2  the progress, JSON
  ///   3  its TTL in ms
  /// Returns 1; 0 if the stored cursor is further; -1 if the worker is fenced.
  static let commitProgress = RedisScript(
    """
    if redis.call('EXISTS', KEYS[2]) == 1 then return -1 end
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    local stored = redis.call('GET', KEYS[1])
    if stored then
      local cursor = string.match(stored, '^(%C*)\\n')
      if cursor and cursor > ARGV[1] then return 0 end
    end
    redis.call('SET', KEYS[1], ARGV[1] .. '\\n' .. ARGV[2], 'PX', ARGV[3])
    return 1
    """)

  /// Removes the progress of a broadcast, unless the worker is fenced.
  ///
  /// KEYS
  ///   1  the progress
  ///   2  the tombstone
  /// Returns the number of keys removed.
  static let clearProgress = RedisScript(
    """
    if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
    return redis.call('DEL', KEYS[1])
    """)
}
