import TestSupport

/// Who owned which device when, as far as the answers to the changes tell.
///
/// Changes of one device follow each other. A change takes effect at an unknown time between its request and its
/// confirmation; one that was not confirmed may take effect at any time until the confirmation of the next one that
/// overrides it. A registration overrides every other. That a user unregisters a device takes it from this user alone.
struct OwnershipTimeline: Sendable {
  enum Change: Sendable {
    case register
    case unregister
  }

  private struct Period {
    let owner: HardName
    /// The earliest time at which this owner may have become the owner, unix nanoseconds.
    let earliest: UInt64
    /// From then on it is certain; nil if it never was.
    let certain: UInt64?
    /// The latest time at which it may have been the owner.
    var latest = UInt64.max
    /// The earliest time at which another may have followed.
    var challenged = UInt64.max
  }

  private var periods: [String: [Period]] = [:]
  /// One line for each change.
  private(set) var lines: [String] = []

  /// Adds a change that a user has asked for. `confirmed` is nil if its effect is unknown.
  mutating func append(
    _ change: Change, _ user: HardName, _ device: String, requested: UInt64, confirmed: UInt64?
  ) {
    lines.append("\(requested) \(change) \(device) \(user): \(confirmed.map { "confirmed at \($0)" } ?? "unknown")")
    var list = periods[device] ?? []
    for index in list.indices where change == .register || list[index].owner == user {
      list[index].challenged = min(list[index].challenged, requested)
      if let confirmed { list[index].latest = min(list[index].latest, confirmed) }
    }
    if change == .register { list.append(Period(owner: user, earliest: requested, certain: confirmed)) }
    periods[device] = list
  }

  /// Whether the user may have owned the device at some time in `range`.
  func mayHaveOwned(_ user: HardName, _ device: String, in range: ClosedRange<UInt64>) -> Bool {
    (periods[device] ?? []).contains {
      $0.owner == user && $0.earliest <= range.upperBound && range.lowerBound <= $0.latest
    }
  }

  /// Whether the user certainly owned the device during the whole of `range`.
  func ownedThroughout(_ user: HardName, _ device: String, _ range: ClosedRange<UInt64>) -> Bool {
    (periods[device] ?? []).contains { period in
      guard period.owner == user, let certain = period.certain else { return false }
      return certain <= range.lowerBound && range.upperBound < period.challenged
    }
  }
}
