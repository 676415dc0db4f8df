import EventLoop
import Redis
import Telemetry

/// A connection of its own that waits in Redis for the next job of one queue (BLMOVE into the in-flight list) or, at most
/// once, of all queues (BRPOP). Holds one permit while it waits.
@EventLoop
final class BlockedClaim {
  enum Answer {
    case job(queueIndex: Int, element: [UInt8])
    case nothing
    case fault(RedisError)
  }

  private let connection: RedisConnection
  private var clientID: Int64?
  private(set) var isBlocked = false
  var onReady: (@EventLoop () -> Void)?

  init(endpoint: RedisEndpoint) {
    // Of an outage the worker's main connection tells, once.
    connection = RedisConnection(endpoint: endpoint, name: "martlet-fetch", log: .silent)
    connection.onStateChange = { [weak self] isReady in
      guard let self else { return }
      self.clientID = nil
      guard isReady else { return }
      self.connection.send(RedisCommand("CLIENT", "ID")) { [weak self] result in
        guard let self, case .success(let id) = result else { return }
        self.clientID = id.integer
      }
      self.onReady?()
    }
  }

  var isReady: Bool { connection.isReady }

  func start() { connection.start() }

  func close() { connection.close() }

  /// Drops the socket: no late answer can arrive any more.
  func disconnect() { connection.disconnect(reason: "a claim's answer is missing") }

  /// Waits for a job and moves it into `inflight`.
  func move(
    from queue: String, queueIndex: Int, to inflight: String, _ completion: @escaping @EventLoop (Answer) -> Void
  ) {
    var command = RedisCommand("BLMOVE", queue, inflight, "RIGHT", "LEFT")
    command.append(QueueLimits.blockSeconds)
    wait(command, completion) { value in value.bytes.map { .job(queueIndex: queueIndex, element: $0) } }
  }

  /// Waits for a job of any of `queues`, in their order, and takes it out of Redis.
  func pop(from queues: [String], _ completion: @escaping @EventLoop (Answer) -> Void) {
    var command = RedisCommand("BRPOP")
    for queue in queues { command.append(queue) }
    command.append(QueueLimits.blockSeconds)
    wait(command, completion) { value in
      guard let pair = value.array, pair.count == 2, let name = pair[0].string, let element = pair[1].bytes,
        let queueIndex = queues.firstIndex(of: name)
      else { return nil }
      return .job(queueIndex: queueIndex, element: element)
    }
  }

  /// Ends the wait through another connection; the answer is `nothing`, or the job that came first.
  func unblock(through other: RedisConnection) {
    guard isBlocked, let clientID else { return }
    var command = RedisCommand("CLIENT", "UNBLOCK")
    command.append(clientID)
    other.send(command) { _ in }
  }

  private func wait(
    _ command: RedisCommand, _ completion: @escaping @EventLoop (Answer) -> Void,
    read: @escaping @EventLoop (RedisValue) -> Answer?
  ) {
    isBlocked = true
    connection.send(command, timeout: QueueLimits.blockDeadline) { [weak self] result in
      self?.isBlocked = false
      switch result {
      case .success(let value): completion(read(value) ?? .nothing)
      case .failure(let error): completion(.fault(error))
      }
    }
  }
}
