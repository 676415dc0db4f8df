extension StringProtocol {
  /// Without white space around it, as JavaScript's `trim`.
  var trimmed: String {
    var scalars = unicodeScalars[...]
    while let first = scalars.first, first.isTrimmed { scalars.removeFirst() }
    while let last = scalars.last, last.isTrimmed { scalars.removeLast() }
    return String(String.UnicodeScalarView(scalars))
  }
}

extension Unicode.Scalar {
  fileprivate var isTrimmed: Bool { properties.isWhitespace || self == "\u{FEFF}" }
}
