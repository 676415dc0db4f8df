/// Tells whether refusals of a key or a topic are those of a route or of single devices. Pure; times are nanoseconds on
/// CLOCK_MONOTONIC.
struct RouteRefusals {
  enum Blame: Equatable {
    /// Others were accepted since this device was refused: the push ends.
    case device
    /// Not known yet: the push is tried again later.
    case unknown
    /// Nothing is to be sent but probes.
    case route
  }

  /// Different devices in a row without an acceptance between them.
  static let devicesBeforePause = 3
  /// A route that accepted a push within this time is not paused because of fewer devices.
  static let proofNanoseconds: UInt64 = 60_000_000_000
  /// Devices that are remembered.
  static let maximumDevices = 100

  /// When each device was last refused.
  private var refusedAt: [Int: UInt64] = [:]

  /// Records a refusal. `device` is the hash of its token; `mayBeOfDevice`: the reason may be one of single devices; `provenAt` is
  /// when the route was last accepted, 0 if never.
  mutating func record(_ device: Int, mayBeOfDevice: Bool, provenAt: UInt64, now: UInt64) -> Blame {
    if let before = refusedAt[device], before < provenAt { return .device }
    if refusedAt.count >= RouteRefusals.maximumDevices { refusedAt = refusedAt.filter { $0.value > provenAt } }
    if refusedAt.count >= RouteRefusals.maximumDevices { refusedAt = [:] }
    refusedAt[device] = now
    if refusedAt.values.count(where: { $0 > provenAt }) >= RouteRefusals.devicesBeforePause { return .route }
    let isProven = provenAt != 0 && now < provenAt + RouteRefusals.proofNanoseconds
    return isProven || mayBeOfDevice ? .unknown : .route
  }
}
