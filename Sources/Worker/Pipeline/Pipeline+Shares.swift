import EventLoop
import Jobs

/// The shares of the apps.
extension Pipeline {
  func makeWindow() -> SendWindow {
    let configuration = context.configuration
    return SendWindow(
      permits: context.permits, shares: configuration.appShares, hasOtherApps: configuration.apns != nil,
      send: { [unowned self] in send($0) }, putOff: { [unowned self] in putOff($0, of: $1, for: $2) })
  }

  /// Runs the job again after `delay` as if it had not been claimed: its app has its share of the permits, and enough jobs of
  /// it wait in memory.
  private func putOff(_ delivery: Delivery, of lane: AppLane, for delay: Duration) {
    metrics.putOff(ofApp: window.lanes.label(of: lane))
    end(delivery, as: .postponed(for: delay, because: JobOutcome.appIsBusy))
  }
}
