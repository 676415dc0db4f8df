import EventLoop
import Redis
import Telemetry

/// A separate connection that waits in Redis for a job.
@EventLoop
final class BlockedConnection {
  let connection: RedisConnection
  private let queue: String
  /// Called when the connection can be used, after each time it was made.
  var onReady: (@EventLoop () -> Void)?
  /// Whether an answer may still bring a job.
  private(set) var isBlocked = false
  /// Whether the server can leave a reply out (`CLIENT REPLY SKIP`). Nil until it has answered.
  private(set) var canSkipReplies: Bool?
  /// The server sent a reply that it should have left out: some proxies and other engines accept the command without
  /// effect.
  private var ignoresSkip = false
  /// The id of the connection on the server, for `CLIENT UNBLOCK`.
  private var clientID: Int64?
  private var wasUnblocked = false
  /// Nanoseconds of the monotonic clock.
  private var blockedSince: UInt64 = 0

  /// In a cluster, connects to the server of `queue`.
  init(endpoint: RedisEndpoint, queue: String, instruments: RedisInstruments?) {
    self.queue = queue
    // The worker's main connection logs outages; this one would repeat them.
    connection = RedisConnection(
      endpoint: endpoint, key: queue, name: "martlet-fetch", maximumReplyBytes: QueueLimits.largestReply, log: .silent)
    connection.instruments = instruments
    connection.onStateChange = { [weak self] isReady in self?.connectionChanged(isReady) }
  }

  var isReady: Bool { connection.isReady && canSkipReplies != nil }

  /// Whether the last wait ended at once without ``unblock(through:)``: Redis refuses to let it wait, without a
  /// reason.
  var hasEndedEarly: Bool {
    !wasUnblocked && Clock.monotonicNanoseconds - blockedSince < UInt64(QueueLimits.faultPause.nanoseconds)
  }

  func start() { connection.start() }

  func close() { connection.close() }

  /// Drops the socket, so that no late answer can arrive.
  func disconnect() { connection.disconnect(reason: "a claim's answer is missing") }

  func beginWait() {
    isBlocked = true
    wasUnblocked = false
    blockedSince = Clock.monotonicNanoseconds
  }

  /// Keeps a wait open although it has ended: an answer may still arrive.
  func extendWait() { isBlocked = true }

  func endWait() { isBlocked = false }

  /// The server sent a reply that it should have left out.
  func markSkipIgnored() { ignoresSkip = true }

  /// Ends the wait through another connection. The wait then brings nothing, or the job that came first.
  func unblock(through other: RedisClient) {
    guard isBlocked, let clientID else { return }
    wasUnblocked = true
    var command = RedisCommand("CLIENT", "UNBLOCK")
    command.append(clientID)
    other.send(command, toServerOf: queue) { _ in }
  }

  private func connectionChanged(_ isReady: Bool) {
    clientID = nil
    canSkipReplies = nil
    guard isReady else { return }
    connection.send(RedisCommand("CLIENT", "ID")) { [weak self] result in
      guard let self, case .success(let id) = result else { return }
      clientID = id.integer
    }
    // A server that does not know the command, or forbids it, answers with an error.
    connection.send(RedisCommand("CLIENT", "REPLY", "ON")) { [weak self] result in
      guard let self, connection.isReady else { return }
      if case .success = result { canSkipReplies = !ignoresSkip } else { canSkipReplies = false }
      onReady?()
    }
  }
}
