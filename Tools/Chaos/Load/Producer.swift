import EventLoop
import Redis
import TestSupport

/// Enqueues jobs until it is stopped, also while Redis fails. A job is sent to Redis once.
@EventLoop
final class Producer {
  static let queues = ["chaos:high", "chaos"]
  private static let tick = Duration.milliseconds(20)
  /// Replies that are awaited at once; more are not sent.
  private static let limit = 2000

  private let connection: RedisClient
  private var maker: JobMaker
  private let perTick: Int
  private var timer: LoopTimer?
  private var awaited = 0
  private(set) var jobs: [ProducedJob] = []
  private(set) var confirmed = 0
  /// Redis refused these jobs, or there was no connection.
  private(set) var refused = 0

  init(_ connection: RedisClient, _ maker: JobMaker, perSecond: Int) {
    self.connection = connection
    self.maker = maker
    perTick = max(1, perSecond / 50)
  }

  func start() {
    timer = .every(Producer.tick) { [unowned self] in
      for _ in 0..<perTick { enqueue(maker.next()) }
    }
  }

  /// Enqueues a job to a user whose device may change its owner.
  func enqueue(to user: HardName, device: String) {
    enqueue(maker.job(to: user, device: device))
  }

  /// Enqueues a job to a device of a user, which stays registered.
  func enqueue(toDevice token: String, of user: HardName) {
    enqueue(maker.job(toDevice: token, of: user))
  }

  /// Returns when Redis has replied to everything, or will not.
  func stop() async throws {
    timer = nil
    while awaited > 0 { try await Task.sleep(for: Producer.tick) }
  }

  private func enqueue(_ made: JobMaker.Made) {
    guard awaited < Producer.limit else { return }
    awaited += 1
    let queue = Producer.queues[jobs.count % Producer.queues.count]
    connection.send(RedisCommand("LPUSH", queue).with(made.json)) { [self] result in
      awaited -= 1
      var job = made.job
      switch result {
      case .success:
        job.isConfirmed = true
        confirmed += 1
        jobs.append(job)
      case .failure(.outcomeUnknown): jobs.append(job)
      case .failure: refused += 1
      }
    }
  }
}
