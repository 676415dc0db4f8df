/// Values by claim, with the number of claims of each address.
struct ClaimMap<Value> {
  private var values: [Claim: Value] = [:]
  private var counts: [String: Int] = [:]

  var count: Int { values.count }

  /// The number of claims of an address.
  func count(of address: String) -> Int { counts[address] ?? 0 }

  subscript(claim: Claim) -> Value? {
    get { values[claim] }
    set {
      let old = values[claim]
      values[claim] = newValue
      switch (old == nil, newValue == nil) {
      case (true, false): counts[claim.address, default: 0] += 1
      case (false, true): release(claim.address)
      default: break
      }
    }
  }

  /// Removes the claims whose value is not to be kept.
  mutating func keep(_ isKept: (Value) -> Bool) {
    values = values.filter { isKept($0.value) }
    counts = [:]
    for claim in values.keys { counts[claim.address, default: 0] += 1 }
  }

  /// The claim with the least value.
  func minimum(by isLess: (Value, Value) -> Bool) -> Claim? {
    values.min { isLess($0.value, $1.value) }?.key
  }

  private mutating func release(_ address: String) {
    let left = (counts[address] ?? 1) - 1
    counts[address] = left > 0 ? left : nil
  }
}
