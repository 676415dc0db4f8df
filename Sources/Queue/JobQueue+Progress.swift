public import Jobs
import EventLoop
public import Redis

extension JobQueue {
  /// How long a broadcast that nobody goes on with is remembered.
  private static let progressTimeToLive = Duration.seconds(7 * 24 * 3600)

  /// How far the broadcast of a job has come; nil when no page was committed yet.
  public func loadProgress(
    of claim: Claim, _ completion: @escaping @EventLoop (Result<AttemptState?, RedisError>) -> Void
  ) {
    connection.send(RedisCommand("GET", progressKey(claim))) { result in
      completion(
        result.map { value in
          guard let bytes = value.bytes, let line = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
          return AttemptState(json: Array(bytes[(line + 1)...]))
        })
    }
  }

  /// Writes how far it has come; a stored cursor that is further stays. A fenced worker loses the claim.
  public func commitProgress(_ progress: AttemptState, of claim: Claim) {
    let tombstone = queues[claim.queueIndex].tombstone(lease.name.value)
    connection.call(QueueScripts.commitProgress, keys: [progressKey(claim), tombstone]) { command in
      command.append(progress.cursor ?? "")
      command.append(progress.json())
      command.append(JobQueue.progressTimeToLive.milliseconds)
    } _: { [self] result in
      // A commit that is lost costs a page sent again after a crash, no more: the next one says as much.
      if case .success(.integer(-1)) = result { takenAway(claim) }
    }
  }

  /// Removes it when a broadcast has ended; that of a worker which was given the job meanwhile stays.
  public func clearProgress(of claim: Claim) {
    let tombstone = queues[claim.queueIndex].tombstone(lease.name.value)
    connection.run(QueueScripts.clearProgress, keys: [progressKey(claim), tombstone]) { _ in }
  }

  private func progressKey(_ claim: Claim) -> String {
    queues[claim.queueIndex].progress(claim.envelope.nonce ?? "")
  }
}
