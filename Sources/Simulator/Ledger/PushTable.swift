/// Counts how often each apns-id was processed. There may be millions of ids, so it has many hash tables with open addressing:
/// while one of them grows, no push waits long.
struct PushTable {
  struct Entry: Equatable {
    let id: PushID
    /// 0 marks a free place.
    var count: UInt32
    /// Of the first arrival, unix nanoseconds.
    var arrival: UInt64
  }

  /// The number of tables, a power of two.
  private static let tableCount = 256

  private(set) var count = 0
  /// Number of pushes with new ids while the table was full.
  private(set) var overflow = 0
  private let limit: Int
  private var tables = Array(repeating: Table(), count: PushTable.tableCount)

  /// Holds up to `limit` ids.
  init(limit: Int) {
    self.limit = limit
  }

  /// Adds an arrival and returns the count of the id: 1 for a new one, 0 if the table is full.
  mutating func add(_ id: PushID, at arrival: UInt64) -> UInt32 {
    let number = PushTable.table(of: id)
    let known = tables[number].note(id)
    guard known == 0 else { return known }
    guard count < limit else {
      overflow += 1
      return 0
    }
    tables[number].insert(Entry(id: id, count: 1, arrival: arrival))
    count += 1
    return 1
  }

  subscript(id: PushID) -> Entry? { tables[PushTable.table(of: id)][id] }

  var entries: some Sequence<Entry> { tables.lazy.flatMap(\.entries) }

  private static func table(of id: PushID) -> Int { Int(id.hash >> 48) & (tableCount - 1) }
}

private struct Table {
  private static let free = PushTable.Entry(id: PushID(high: 0, low: 0), count: 0, arrival: 0)

  private var count = 0
  /// Their number is a power of two.
  private var places = [free, free]

  subscript(id: PushID) -> PushTable.Entry? {
    let entry = places[index(of: id)]
    return entry.count > 0 ? entry : nil
  }

  var entries: some Sequence<PushTable.Entry> {
    places.lazy.filter { $0.count > 0 }
  }

  /// Notes one more arrival of an id. Returns its count, 0 if the id is new.
  mutating func note(_ id: PushID) -> UInt32 {
    let index = index(of: id)
    guard places[index].count > 0 else { return 0 }
    places[index].count &+= 1
    return places[index].count
  }

  /// Adds the entry of a new id.
  mutating func insert(_ entry: PushTable.Entry) {
    if (count + 1) * 10 > places.count * 7 { grow() }
    places[index(of: entry.id)] = entry
    count += 1
  }

  /// Returns the index of the id, or of the free place for it. There always is one.
  private func index(of id: PushID) -> Int {
    let mask = places.count - 1
    var index = Int(id.hash >> 20) & mask
    while places[index].count > 0, places[index].id != id { index = (index + 1) & mask }
    return index
  }

  private mutating func grow() {
    let old = places
    places = Array(repeating: Table.free, count: old.count * 2)
    for entry in old where entry.count > 0 { places[index(of: entry.id)] = entry }
  }
}

extension PushID {
  fileprivate var hash: UInt64 { high ^ low &* 0x9E37_79B9_7F4A_7C15 }
}
