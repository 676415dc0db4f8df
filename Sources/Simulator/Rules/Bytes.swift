#if canImport(Glibc)
  import Glibc
#endif

func isSame(_ left: ArraySlice<UInt8>, _ right: [UInt8]) -> Bool {
  guard left.count == right.count else { return false }
  return left.withUnsafeBytes { left in
    right.withUnsafeBytes { right in
      guard let first = left.baseAddress, let second = right.baseAddress else { return true }
      return memcmp(first, second, left.count) == 0
    }
  }
}

/// Whether the text begins and ends as a JSON object does.
func isJSONObject(_ text: [UInt8]) -> Bool {
  func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
  guard let first = text.first(where: { !isSpace($0) }), let last = text.last(where: { !isSpace($0) }) else {
    return false
  }
  return first == UInt8(ascii: "{") && last == UInt8(ascii: "}")
}
