/// Counts how often each apns-id was processed. There may be millions of ids, so they are divided among many tables: while one of
/// them grows, no push waits long.
struct PushTable {
  struct Entry: Equatable {
    let id: PushID
    var count: UInt32
    /// Of the first arrival, unix nanoseconds.
    let arrival: UInt64
  }

  private static let tableCount: UInt64 = 256

  private(set) var count = 0
  /// Number of pushes with new ids while the tables were full.
  private(set) var overflow = 0
  private let limit: Int
  private var tables = Array(repeating: [PushID: Entry](), count: Int(PushTable.tableCount))

  /// Holds up to `limit` ids.
  init(limit: Int) {
    self.limit = limit
  }

  /// Adds an arrival and returns the count of the id: 1 for a new one, 0 if the tables are full.
  mutating func add(_ id: PushID, at arrival: UInt64) -> UInt32 {
    let table = PushTable.table(of: id)
    if let known = tables[table][id] {
      tables[table][id]?.count += 1
      return known.count + 1
    }
    guard count < limit else {
      overflow += 1
      return 0
    }
    tables[table][id] = Entry(id: id, count: 1, arrival: arrival)
    count += 1
    return 1
  }

  subscript(id: PushID) -> Entry? { tables[PushTable.table(of: id)][id] }

  var entries: some Sequence<Entry> { tables.lazy.flatMap(\.values) }

  private static func table(of id: PushID) -> Int { Int(id.low % tableCount) }
}
