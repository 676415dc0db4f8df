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
    let text = UnsafeMutableRawBufferPointer(text)
    func put(_ digits: UInt64, at place: Int) { text.storeBytes(of: digits, toByteOffset: place, as: UInt64.self) }
    // Each overwrites what the one before wrote too much.
    put(hexDigits(high >> 32), at: 0)
    put(hexDigits(high), at: 9)
    put(hexDigits(high) >> 32, at: 14)
    put(hexDigits(low >> 32), at: 19)
    put(hexDigits(low >> 32) >> 32, at: 24)
    put(hexDigits(low), at: 28)
    for place in [8, 13, 18, 23] { text[place] = UInt8(ascii: "-") }
    return 36
  }
}

/// The hexadecimal digits of the lower 32 bits, the first in the lowest byte.
private func hexDigits(_ word: UInt64) -> UInt64 {
  // One digit's value in each byte.
  var digits = word & 0xFFFF_FFFF
  digits = (digits | digits << 16) & 0x0000_FFFF_0000_FFFF
  digits = (digits | digits << 8) & 0x00FF_00FF_00FF_00FF
  digits = (digits | digits << 4) & 0x0F0F_0F0F_0F0F_0F0F
  let ones: UInt64 = 0x0101_0101_0101_0101
  let letters = (digits &+ ones &* 6) >> 4 & ones
  return (digits &+ ones &* 0x30 &+ letters &* 0x27).byteSwapped
}

/// Ids for jobs without one.
public enum JobID {
  /// The id of a queue entry, from the nonce of its envelope: the same on every attempt.
  public static func derived(nonce: String) -> String { apnsID(jobID: "", token: nonce) }

  public static func random() -> String {
    apnsID(jobID: String(UInt64.random(in: 0...UInt64.max)), token: String(UInt64.random(in: 0...UInt64.max)))
  }
}
