public import EventLoop
public import Redis

/// Cancels jobs for a service that does not wait for their end. Follows each job in the background until its mark is no
/// longer needed.
@EventLoop
public final class CancellationWatch {
  /// Further jobs are marked, but not followed.
  private static let maximumFollowed = 200
  /// How long a mark is looked after. The worker of a job in flight knows of it within a second; if it is dead, its jobs
  /// wait again within 20 s.
  private static let followTime = Duration.seconds(120)
  /// How long one look waits for the end of a job.
  private static let patience = Duration.seconds(5)
  /// Between two attempts while Redis does not answer.
  private static let faultPause = Duration.seconds(1)

  private let control: JobControl
  private var followed: Set<String> = []

  public init(queues: [String], connection: RedisClient) {
    control = JobControl(queues: queues, connection: connection)
  }

  /// Cancels a job. See ``JobControl/cancel(_:)``.
  public func cancel(_ id: String) async throws(RedisError) -> JobControl.Cancellation {
    do {
      let answer = try await control.cancel(id)
      if case .marked(let location) = answer { begin(id) { await self.follow(location, until: $0) } }
      return answer
    } catch {
      // It may be marked. Whether a job is left for the mark is seen when Redis answers.
      begin(id) { await self.clear(id, until: $0) }
      throw error
    }
  }

  private func begin(_ id: String, _ work: @escaping @EventLoop (_ end: ContinuousClock.Instant) async -> Void) {
    guard followed.count < CancellationWatch.maximumFollowed, followed.insert(id).inserted else { return }
    Task { @EventLoop in
      await work(.now + CancellationWatch.followTime)
      followed.remove(id)
    }
  }

  private func follow(_ marked: JobLocation, until end: ContinuousClock.Instant) async {
    while ContinuousClock.now < end {
      do {
        // A worker that takes a waiting job sees the mark. A worker that already has the job may end it before it does.
        guard case .marked(let location) = try await control.follow(marked, within: CancellationWatch.patience),
          case .inFlight = location.place
        else { return }
      } catch {
        try? await Task.sleep(for: CancellationWatch.faultPause)
      }
    }
  }

  private func clear(_ id: String, until end: ContinuousClock.Instant) async {
    while ContinuousClock.now < end {
      try? await Task.sleep(for: CancellationWatch.faultPause)
      do { return try await control.unmarkIfUnneeded(id) } catch { continue }
    }
  }
}
