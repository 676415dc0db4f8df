extension StringProtocol {
  /// Without white space around it, as JavaScript's `trim`.
  var trimmed: String {
    let scalars = unicodeScalars
    var start = startIndex
    while start < endIndex, scalars[start].isTrimmed { scalars.formIndex(after: &start) }
    var end = endIndex
    while end > start {
      let last = scalars.index(before: end)
      guard scalars[last].isTrimmed else { break }
      end = last
    }
    return String(self[start..<end])
  }
}

extension Unicode.Scalar {
  fileprivate var isTrimmed: Bool {
    // Most are ASCII, which is faster to tell than to look up.
    isASCII ? value == 0x20 || (0x09...0x0D).contains(value) : properties.isWhitespace || self == "\u{FEFF}"
  }
}
