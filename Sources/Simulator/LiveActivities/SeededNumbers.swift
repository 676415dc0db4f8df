/// SplitMix64: the same numbers for the same seed and name, on every machine.
struct SeededNumbers {
  private var state: UInt64

  init(seed: UInt64, name: String) {
    // FNV-1a.
    state = name.utf8.reduce(0xCBF2_9CE4_8422_2325 ^ seed) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
  }

  /// Returns a device token: 64 hexadecimal digits in lower case.
  mutating func token() -> String {
    (0..<2).map { _ in PushID(high: next(), low: next()).text.filter { $0 != "-" } }.joined()
  }

  /// Returns a number up to `limit`, which is not negative.
  mutating func number(upTo limit: Int) -> Int { Int(next() % (UInt64(limit) + 1)) }

  private mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
