import Dispatch
import EventLoop
import HTTPClient
import Telemetry

/// One place in a pool. Opens a connection, and another one when that takes no more pushes.
@EventLoop
final class PoolMember {
  private enum State {
    case idle
    case opening
    case connected(Connection)
    /// Waits before the next attempt.
    case waiting(LoopTimer)
    /// Opens no more connections.
    case stopped
  }

  private unowned let pool: ConnectionPool
  private let origin: Origin
  private let configuration: APNsConfiguration
  private let log: Log
  /// Opening blocks, so it runs on its own queue.
  private let queue = DispatchQueue(label: "martlet.apns.connect")
  private let backoff: Backoff
  /// Failed attempts since a connection last worked.
  private var failures = 0
  private var state = State.idle
  private var outageSince: UInt64?
  /// Since when there has been no ready connection although one is needed.
  private(set) var unreadySince: UInt64?

  /// Why there is no connection, for the pushes that wait for one.
  private(set) var lastError = ""

  init(pool: ConnectionPool, origin: Origin, configuration: APNsConfiguration, log: Log) {
    self.pool = pool
    self.origin = origin
    self.configuration = configuration
    self.log = log
    backoff = configuration.limits.connectBackoff
  }

  var connection: Connection? {
    if case .connected(let connection) = state { connection } else { nil }
  }

  /// Starts opening a connection, the first time it is called.
  func open() {
    guard case .idle = state else { return }
    connect()
  }

  /// Replaces the connection, which takes no more pushes. The pool keeps it until it has closed.
  func release(_ connection: Connection) {
    guard self.connection === connection else { return }
    if unreadySince == nil { unreadySince = Clock.monotonicNanoseconds }
    if connection.hasWorked {
      failures = 0
      connect()
    } else {
      retryLater()
    }
  }

  /// Records that the connection ended unexpectedly, which ``ConnectionEnds`` logs.
  func lost(_ end: ConnectionEnd) {
    lastError = end.text
    if outageSince == nil { outageSince = Clock.monotonicNanoseconds }
  }

  /// Returns whether there has been no ready connection for longer than the outage patience: none could be opened, one
  /// is being opened, or the server sends nothing on it.
  func isDown(now: UInt64) -> Bool {
    guard connection?.isReady != true, let since = unreadySince, now > since else { return false }
    return now - since > configuration.limits.outagePatience.unsignedNanoseconds
  }

  /// Records that the connection is ready.
  func recovered() {
    unreadySince = nil
    guard let since = outageSince else { return }
    outageSince = nil
    let seconds = (Clock.monotonicNanoseconds - since) / 1_000_000_000
    log.info("APNs connection is back", ["origin": .init(origin.url), "seconds": .init(seconds)])
  }

  /// Opens no more connections, and leaves the current one to the pool.
  func stop() {
    state = .stopped
  }

  private func connect() {
    state = .opening
    if unreadySince == nil { unreadySince = Clock.monotonicNanoseconds }
    let origin = origin
    let authorities = configuration.authorities
    let buffers = pool.buffers
    let milliseconds = Int(configuration.limits.connectTimeout.milliseconds)
    queue.async {
      let result = Result { () throws(HTTPClientError) in
        try SecureChannel(
          to: origin.address, authorities: authorities, buffers: buffers, connectMilliseconds: milliseconds)
      }.mapError { APNsError.connection($0.description) }
      EventLoop.run { self.opened(result) }
    }
  }

  private func opened(_ result: Result<SecureChannel, APNsError>) {
    guard case .opening = state else { return }
    do throws(APNsError) {
      let connection = try Connection(
        channel: result.get(), authority: origin.authority, limits: configuration.limits, pool: pool)
      state = .connected(connection)
      pool.connectionOpened()
      log.debug("APNs connection open", ["origin": .init(origin.url)])
      connection.flush(now: Clock.monotonicNanoseconds)
    } catch {
      announceOutage(error.description)
      retryLater()
    }
  }

  /// Records and logs that no connection could be opened.
  func announceOutage(_ reason: String) {
    lastError = reason
    guard outageSince == nil else { return }
    outageSince = Clock.monotonicNanoseconds
    // Operator: Nothing, unless it lasts or has a `fix`: then follow it.
    log.warn(
      "APNs connection lost, opening another",
      ["origin": .init(origin.url), "error": .init(reason), "fix": .init(ConnectionFix.text(for: reason))])
  }

  private func retryLater() {
    failures += 1
    let delay = backoff.delay(attempt: failures, random: .random(in: 0...1))
    state = .waiting(
      LoopTimer.after(delay) { [weak self] in
        // A cancelled timer may fire once more.
        guard let self, case .waiting = state else { return }
        connect()
      })
  }
}
