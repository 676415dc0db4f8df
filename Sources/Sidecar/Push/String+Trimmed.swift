extension StringProtocol {
  /// Without white space around it, as JavaScript's `trim`.
  var trimmed: String {
    let text = String(self)
    // Most texts have none, which their first and last bytes tell.
    if let first = text.utf8.first, let last = text.utf8.last, first.isVisibleASCII, last.isVisibleASCII { return text }
    var scalars = text.unicodeScalars[...]
    while let first = scalars.first, first.isTrimmed { scalars.removeFirst() }
    while let last = scalars.last, last.isTrimmed { scalars.removeLast() }
    return String(String.UnicodeScalarView(scalars))
  }
}

extension UInt8 {
  fileprivate var isVisibleASCII: Bool { self > 0x20 && self < 0x7F }
}

extension Unicode.Scalar {
  fileprivate var isTrimmed: Bool { properties.isWhitespace || self == "\u{FEFF}" }
}
