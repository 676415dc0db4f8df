import JSON

extension JSONWriter {
  /// Writes nothing if `value` is nil.
  package mutating func member(_ name: StaticString, _ value: String?) {
    guard let value else { return }
    key(name)
    string(value)
  }

  package mutating func member(_ name: StaticString, _ value: some BinaryInteger) {
    key(name)
    integer(value)
  }

  /// Writes the members of `object`, the text of a JSON object.
  mutating func members(of object: [UInt8]) {
    let inside = object.dropFirst().dropLast()
    guard inside.contains(where: { $0 > 0x20 }) else { return }
    raw(inside)
  }
}
