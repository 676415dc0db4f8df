/// Counts how often each apns-id was processed. An open-addressing hash table, because there may be millions of ids.
struct PushTable {
  struct Entry: Equatable {
    let id: PushID
    /// 0 marks a free place.
    var count: UInt32
    /// Of the first arrival, unix nanoseconds.
    var arrival: UInt64
  }

  private static let free = Entry(id: PushID(high: 0, low: 0), count: 0, arrival: 0)
  /// A power of two.
  private static let initialPlaces = 1024

  private(set) var count = 0
  /// Number of pushes with new ids while the table was full.
  private(set) var overflow = 0
  private let limit: Int
  private var slots: [Entry]

  /// Holds up to `limit` ids.
  init(limit: Int) {
    self.limit = limit
    slots = Array(repeating: PushTable.free, count: PushTable.initialPlaces)
  }

  /// Adds an arrival and returns the count of the id: 1 for a new one, 0 if the table is full.
  mutating func add(_ id: PushID, at arrival: UInt64) -> UInt32 {
    if count * 10 >= slots.count * 7, slots.count < limit * 2 { grow() }
    let index = index(of: id)
    if slots[index].count > 0 {
      slots[index].count &+= 1
      return slots[index].count
    }
    guard count < limit else {
      overflow += 1
      return 0
    }
    slots[index] = Entry(id: id, count: 1, arrival: arrival)
    count += 1
    return 1
  }

  subscript(id: PushID) -> Entry? {
    let entry = slots[index(of: id)]
    return entry.count > 0 ? entry : nil
  }

  var entries: some Sequence<Entry> {
    slots.lazy.filter { $0.count > 0 }
  }

  /// Returns the index of the id, or of the free place for it. The table is never full.
  private func index(of id: PushID) -> Int {
    let mask = slots.count - 1
    var index = Int(truncatingIfNeeded: (id.high ^ id.low &* 0x9E37_79B9_7F4A_7C15) >> 20) & mask
    while slots[index].count > 0, slots[index].id != id { index = (index + 1) & mask }
    return index
  }

  private mutating func grow() {
    let old = slots
    slots = Array(repeating: PushTable.free, count: old.count * 2)
    for entry in old where entry.count > 0 { slots[index(of: entry.id)] = entry }
  }
}
