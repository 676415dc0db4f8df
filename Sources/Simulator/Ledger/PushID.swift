/// An apns-id as 16 bytes.
struct PushID: Hashable, Sendable {
  let high: UInt64
  let low: UInt64

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Parses a UUID of 36 characters in upper or lower case.
  init?(_ text: ArraySlice<UInt8>) {
    guard text.count == 36 else { return nil }
    var high: UInt64 = 0
    var low: UInt64 = 0
    var digits = 0
    for (position, character) in text.enumerated() {
      if position == 8 || position == 13 || position == 18 || position == 23 {
        guard character == UInt8(ascii: "-") else { return nil }
        continue
      }
      guard let digit = PushID.digit(character) else { return nil }
      if digits < 16 { high = high << 4 | UInt64(digit) } else { low = low << 4 | UInt64(digit) }
      digits += 1
    }
    self.init(high: high, low: low)
  }

  static func random() -> PushID {
    PushID(
      high: .random(in: 0 ... .max) & ~0xF000 | 0x4000,
      low: .random(in: 0 ... .max) & ~(3 << 62) | (2 << 62))
  }

  /// Lower case.
  var text: String {
    func hex(_ value: UInt64) -> String {
      let digits = String(value, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
    let (first, second) = (hex(high), hex(low))
    let middle = first.dropFirst(8)
    return "\(first.prefix(8))-\(middle.prefix(4))-\(middle.suffix(4))-\(second.prefix(4))-\(second.dropFirst(4))"
  }

  @inline(__always)
  static func digit(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
