import APNs
import EventLoop
import Telemetry

/// Adapts the permits of a worker to how quickly APNs answers.
@EventLoop
final class ConcurrencyControl {
  private static let interval = Duration.milliseconds(500)
  /// Shorter outages, such as a GOAWAY, leave no backlog.
  private static let longOutage = Duration.seconds(3)

  private let clients: AppClients
  private let permits: Permits
  private let log: Log
  private var limit: ConcurrencyLimit
  private var timer: LoopTimer?
  private var disconnectedAt: UInt64?

  init(clients: AppClients, permits: Permits, log: Log) {
    self.clients = clients
    self.permits = permits
    self.log = log
    limit = ConcurrencyLimit(maximum: permits.maximum)
  }

  func start() {
    timer = .every(ConcurrencyControl.interval) { [weak self] in self?.update() }
  }

  /// Call it when the clients have gained or lost the last connection to the gateways that pushes are for.
  func connectionChanged(isConnected: Bool) {
    let now = Clock.monotonicNanoseconds
    guard isConnected else {
      disconnectedAt = disconnectedAt ?? now
      return
    }
    guard let since = disconnectedAt else { return }
    disconnectedAt = nil
    if now - since > ConcurrencyControl.longOutage.unsignedNanoseconds { apply(limit.restart()) }
  }

  private func update() {
    apply(limit.update(clients.takeAnswerTimes()))
  }

  private func apply(_ change: ConcurrencyLimit.Change) {
    guard change != .none else { return }
    let wasFull = permits.limit == permits.maximum
    permits.setLimit(limit.value)
    if change == .lowered { clients.restartAnswerTimes() }
    let fields: KeyValuePairs<String, Log.Field> = ["limit": .init(limit.value), "maximum": .init(limit.maximum)]
    if wasFull { return log.warn("APNs is slow or was out of reach: fewer pushes are sent at once", fields) }
    if limit.value == limit.maximum { log.info("APNs answers quickly again: the limit of pushes is as set", fields) }
  }
}
