/// Amounts by name, for a limited number of names. Counting a name that was counted just before compares two strings.
struct CounterNames {
  let maximum: Int
  /// One more than the names: the first is that of ``CounterLimits/otherName``.
  private var names = [CounterLimits.otherName]
  /// In columns for each name.
  private var amounts: [Int]
  private let columns: Int
  private var places: [String: Int] = [:]
  private var last = ""
  private var lastPlace = 0

  init(maximum: Int, columns: Int = 1) {
    self.maximum = maximum
    self.columns = columns
    amounts = Array(repeating: 0, count: columns)
  }

  mutating func count(_ name: String, column: Int = 0) {
    if name != last {
      lastPlace = place(of: name)
      last = name
    }
    amounts[lastPlace * columns + column] &+= 1
  }

  /// Adds the amounts of each column to `batch`, as fields that begin with its prefix, and begins again.
  mutating func move(to batch: inout CounterBatch, prefixes: [String]) {
    for (place, name) in names.enumerated() {
      for (column, prefix) in prefixes.enumerated() {
        let fallback = prefix + CounterLimits.otherName
        batch.add(amounts[place * columns + column], to: prefix + name, fallback: place == 0 ? nil : fallback)
      }
    }
    // The next names may be others.
    if names.count > maximum { self = CounterNames(maximum: maximum, columns: columns) }
    for index in amounts.indices { amounts[index] = 0 }
  }

  private mutating func place(of name: String) -> Int {
    if let place = places[name] { return place }
    let plain = CounterField.name(name)
    guard plain != CounterLimits.otherName, names.count <= maximum else { return 0 }
    places[name] = names.count
    names.append(plain)
    amounts.append(contentsOf: repeatElement(0, count: columns))
    return names.count - 1
  }
}
