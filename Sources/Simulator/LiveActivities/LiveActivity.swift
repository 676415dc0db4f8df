/// All cards of one activity on one device, and what became of its pushes.
struct LiveActivity: Equatable {
  /// Starts that APNs has accepted.
  var starts = 0
  /// All that were ever shown.
  var cards: [LiveCard] = []
  private(set) var applied = 0
  private(set) var older = 0
  /// Pushes that reached APNs after an end had been accepted.
  var afterEnd = 0
  /// Accepted pushes that never reach the device.
  private(set) var lost = 0
  /// The newest timestamp of those, unix seconds.
  private(set) var newestLost: Int64?

  mutating func apply(_ payload: LiveActivityPayload, toCard index: Int, now: Int64) {
    switch cards[index].apply(payload, now: now) {
    case .applied: applied += 1
    case .older: older += 1
    case .ended: break
    }
  }

  mutating func lose(_ payload: LiveActivityPayload) {
    lost += 1
    newestLost = max(newestLost ?? 0, payload.timestamp)
  }
}
