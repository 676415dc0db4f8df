/// Who owned which device when, as far as the answers to the changes tell.
///
/// Changes of one device follow each other. A change takes effect at an unknown time between its request and its
/// confirmation; one that was not confirmed may take effect at any time up to the confirmation of the next one.
struct OwnershipTimeline: Sendable {
  private struct Period {
    /// Nil: the device belongs to nobody.
    let owner: String?
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

  /// Adds a change of a device. `confirmed` is nil if its effect is unknown.
  mutating func append(_ owner: String?, of device: String, requested: UInt64, confirmed: UInt64?) {
    var list = periods[device] ?? []
    for index in list.indices {
      list[index].challenged = min(list[index].challenged, requested)
      if let confirmed { list[index].latest = min(list[index].latest, confirmed) }
    }
    list.append(Period(owner: owner, earliest: requested, certain: confirmed))
    periods[device] = list
  }

  /// Whether the user may have owned the device at some time in `range`.
  func mayHaveOwned(_ user: String, _ device: String, in range: ClosedRange<UInt64>) -> Bool {
    (periods[device] ?? []).contains {
      $0.owner == user && $0.earliest <= range.upperBound && range.lowerBound <= $0.latest
    }
  }

  /// Whether the user certainly owned the device during the whole of `range`.
  func ownedThroughout(_ user: String, _ device: String, _ range: ClosedRange<UInt64>) -> Bool {
    (periods[device] ?? []).contains { period in
      guard period.owner == user, let certain = period.certain else { return false }
      return certain <= range.lowerBound && range.upperBound < period.challenged
    }
  }
}
