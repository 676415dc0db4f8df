/// What is to be added to the counters in Redis.
struct CounterBatch: Equatable {
  struct Addition: Equatable {
    var amount: Int
    /// The field that is counted instead if the hash is full; nil if this field is always counted.
    let fallback: String?
  }

  /// By the name of the field.
  private(set) var additions: [String: Addition] = [:]

  var isEmpty: Bool { additions.isEmpty }

  mutating func add(_ amount: Int, to field: String, fallback: String? = nil) {
    guard amount > 0 else { return }
    if additions[field] != nil {
      additions[field]?.amount += amount
    } else if let fallback, additions.count >= CounterLimits.maximumFields {
      add(amount, to: fallback)
    } else {
      additions[field] = Addition(amount: amount, fallback: fallback)
    }
  }

  /// Adds what could not be written earlier.
  mutating func merge(_ other: CounterBatch) {
    for (field, addition) in other.additions { add(addition.amount, to: field, fallback: addition.fallback) }
  }
}
