extension JSONWriter {
  /// Writes a key and its value; nothing if that is nil.
  @inlinable @inline(__always)
  public mutating func member(_ name: StaticString, _ value: String?) {
    guard let value else { return }
    key(name)
    string(value)
  }

  /// Writes a key and its value; nothing if that is nil.
  @inlinable @inline(__always)
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

  /// Writes the members of `object`, the text of a JSON object.
  package mutating func members(of object: [UInt8]) {
    let inside = object.dropFirst().dropLast()
    guard inside.contains(where: { $0 > 0x20 }) else { return }
    raw(inside)
  }
}
