extension String {
  /// Returns the beginning of the text, in about `count` bytes of UTF-8: a character that does not fit is replaced. One
  /// character may have any number of bytes.
  package func prefix(bytes count: Int) -> String {
    utf8.count <= count ? self : String(decoding: utf8.prefix(count), as: UTF8.self)
  }
}
