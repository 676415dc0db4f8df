import JSON

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

/// Whether the text is one JSON object and nothing else.
func isJSONObject(_ text: [UInt8]) -> Bool {
  var reader = JSONReader(text)
  do {
    guard try reader.peek() == .object else { return false }
    try reader.skipValue()
    try reader.end()
    return true
  } catch {
    return false
  }
}
