import Dispatch
import EventLoop
import Telemetry

/// One place in a pool: opens its connection, and opens another whenever that one takes no more pushes.
@EventLoop
final class PoolMember {
  private unowned let pool: ConnectionPool
  private let origin: Origin
  private let configuration: APNsConfiguration
  private let log: Log
  /// Opening blocks, so it has its own queue.
  private let queue = DispatchQueue(label: "martlet.apns.connect")
  private var backoff: Backoff
  private var generator = SystemRandomNumberGenerator()
  private var isOpening = false
  private var isStopped = false
  private var retryTimer: LoopTimer?
  private var outageSince: UInt64?
  /// Since when there has been no connection that takes pushes, though one is wanted.
  private var unreadySince: UInt64?

  private(set) var connection: Connection?
  /// Why there is no connection, for the pushes that wait for one.
  private(set) var lastError = ""

  init(pool: ConnectionPool, origin: Origin, configuration: APNsConfiguration, log: Log) {
    self.pool = pool
    self.origin = origin
    self.configuration = configuration
    self.log = log
    backoff = Backoff(
      minimum: configuration.limits.minimumConnectBackoff, maximum: configuration.limits.maximumConnectBackoff)
  }

  func open() {
    guard connection == nil, !isOpening, retryTimer == nil, !isStopped else { return }
    isOpening = true
    if unreadySince == nil { unreadySince = Clock.monotonicNanoseconds }
    let origin = origin
    let authorities = configuration.authorities
    let milliseconds = Int(configuration.limits.connectTimeout.milliseconds)
    queue.async {
      let result = Result { () throws(APNsError) in
        try SecureChannel(to: origin, authorities: authorities, connectMilliseconds: milliseconds)
      }
      EventLoop.run { self.opened(result) }
    }
  }

  /// The connection is on its way out; the pool keeps it until it has closed.
  func release(_ connection: Connection) {
    guard self.connection === connection else { return }
    self.connection = nil
    if connection.hasWorked { backoff.reset() }
    guard !isStopped else { return }
    if unreadySince == nil { unreadySince = Clock.monotonicNanoseconds }
    if connection.hasWorked { open() } else { retryLater() }
  }

  /// A connection closed without having been asked to.
  func lost(_ reason: String) {
    announceOutage(reason)
  }

  /// For some time there was no connection that takes pushes: none could be opened, one is still being opened, or the server
  /// does not speak on it.
  func isDown(now: UInt64) -> Bool {
    guard connection?.isReady != true, let since = unreadySince, now > since else { return false }
    return now - since > configuration.limits.outagePatience.unsigned
  }

  /// A connection is ready.
  func recovered() {
    unreadySince = nil
    guard let since = outageSince else { return }
    outageSince = nil
    let seconds = (Clock.monotonicNanoseconds - since) / 1_000_000_000
    log.info("APNs connection is back", ["origin": .init(origin.url), "seconds": .init(seconds)])
  }

  func stop() {
    isStopped = true
    retryTimer = nil
  }

  private func opened(_ result: Result<SecureChannel, APNsError>) {
    isOpening = false
    guard !isStopped else { return }
    do throws(APNsError) {
      let connection = try Connection(
        channel: result.get(), authority: origin.authority, limits: configuration.limits, owner: pool)
      self.connection = connection
      pool.connectionOpened()
      log.debug("APNs connection open", ["origin": .init(origin.url)])
      connection.flush(now: Clock.monotonicNanoseconds)
    } catch {
      announceOutage(error.description)
      retryLater()
    }
  }

  private func announceOutage(_ reason: String) {
    lastError = reason
    guard outageSince == nil else { return }
    outageSince = Clock.monotonicNanoseconds
    log.warn("APNs connection lost, opening another", ["origin": .init(origin.url), "error": .init(reason)])
  }

  private func retryLater() {
    guard retryTimer == nil, !isStopped else { return }
    retryTimer = .after(backoff.next(using: &generator)) { [weak self] in
      self?.retryTimer = nil
      self?.open()
    }
  }
}
