extension JSONWriter {
  /// Writes a key and its value; nothing if that is nil.
  public mutating func member(_ name: StaticString, _ value: String?) {
    guard let value else { return }
    key(name)
    string(value)
  }

  /// Writes a key and its value; nothing if that is nil.
  @inlinable
  public mutating func member(_ name: StaticString, _ value: (some BinaryInteger)?) {
    guard let value else { return }
    key(name)
    integer(value)
  }

  /// Writes a key and its value; nothing if that is nil.
  public mutating func member(_ name: StaticString, _ value: Bool?) {
    guard let value else { return }
    key(name)
    bool(value)
  }
}
