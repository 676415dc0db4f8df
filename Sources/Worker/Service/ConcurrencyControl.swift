import EventLoop
import Telemetry

/// Adapts the permits of a worker to how quickly APNs answers, and ends the intervals of the apps' lanes.
@EventLoop
final class ConcurrencyControl {
  private static let interval = Duration.milliseconds(500)
  /// Shorter outages, such as a GOAWAY, leave no backlog.
  private static let longOutage = Duration.seconds(3)

  private let permits: Permits
  private let pipeline: Pipeline
  private let log: Log
  private var limit: ConcurrencyLimit
  private var timer: LoopTimer?
  private var disconnectedAt: UInt64?

  init(permits: Permits, pipeline: Pipeline, log: Log) {
    self.permits = permits
    self.pipeline = pipeline
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

  /// With several apps, each one's limit follows its own answers, and the limit of all is not lowered.
  private func update() {
    pipeline.endInterval { [self] lane, old in logChange(lane, old) }
    let only = lanes.isShared ? nil : lanes.all.first
    apply(limit.update(only?.times ?? AnswerTimes()))
  }

  private var lanes: AppLanes { pipeline.window.lanes }

  /// Logs that the limit of an app was lowered from the maximum, and that it is back there.
  private func logChange(_ lane: AppLane, _ old: Int) {
    let fields: KeyValuePairs<String, Log.Field> = [
      "app": .init(lane.name), "limit": .init(lane.app.limit), "maximum": .init(permits.maximum),
    ]
    if old == permits.maximum {
      // Operator: See `app`. Others are not affected. `APNs answers quickly again for an app` ends it.
      log.warn("APNs is slow or was out of reach for an app: fewer of its pushes are sent at once", fields)
    }
    if lane.app.limit == permits.maximum { log.info("APNs answers quickly again for an app", fields) }
  }

  private func apply(_ change: ConcurrencyLimit.Change) {
    guard change != .none else { return }
    let wasFull = permits.limit == permits.maximum
    permits.setLimit(limit.value)
    if change == .lowered { for lane in lanes.all { lane.restartAnswers() } }
    let fields: KeyValuePairs<String, Log.Field> = ["limit": .init(limit.value), "maximum": .init(limit.maximum)]
    // Operator: Nothing, unless it lasts: check the network to APNs. `APNs answers quickly again: …` ends it.
    if wasFull { return log.warn("APNs is slow or was out of reach: fewer pushes are sent at once", fields) }
    if limit.value == limit.maximum { log.info("APNs answers quickly again: the limit of pushes is as set", fields) }
  }
}
