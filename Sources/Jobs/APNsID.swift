/// Never changes: with another key, the attempts of one job would have different ids.
private let key: (UInt64, UInt64) = (0x6D61_7274_6C65_7431, 0x6170_6E73_2D69_6431)

/// The apns-id of a job's push to a device: a lower-case UUID (version 8), the same on every attempt and every machine.
public func apnsID(jobID: String, token: String) -> String {
  var hash = SipHash128(key: key)
  hash.append(jobID)
  // Neither string can contain 0, so two different pairs never give the same bytes.
  hash.append(0)
  hash.append(token)
  let digest = hash.finish()
  let high = digest.0 & ~0xF000 | 0x8000
  let low = digest.1 & ~(0b11 << 62) | 0b10 << 62
  return String(unsafeUninitializedCapacity: 36) { text in
    var place = 0
    for digit in 0..<32 {
      if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
        text[place] = UInt8(ascii: "-")
        place += 1
      }
      let word = digit < 16 ? high : low
      let nibble = UInt8(truncatingIfNeeded: word >> UInt64((15 - digit & 15) * 4)) & 0x0F
      text[place] = nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
      place += 1
    }
    return place
  }
}

/// Ids for jobs without one.
public enum JobID {
  /// The id of a queue entry, from the nonce of its envelope: the same on every attempt.
  public static func derived(nonce: String) -> String { apnsID(jobID: "", token: nonce) }

  public static func random() -> String {
    apnsID(jobID: String(UInt64.random(in: 0...UInt64.max)), token: String(UInt64.random(in: 0...UInt64.max)))
  }
}
