import JSON

extension JSONWriter {
  package mutating func member(_ name: StaticString, _ value: String?) {
    guard let value else { return }
    key(name)
    string(value)
  }

  package mutating func member(_ name: StaticString, _ value: some BinaryInteger) {
    key(name)
    integer(value)
  }

  /// The members of an object that already is JSON, without its braces.
  mutating func members(of object: [UInt8]) {
    let inside = object.dropFirst().dropLast()
    guard inside.contains(where: { $0 > 0x20 }) else { return }
    raw(inside)
  }
}
