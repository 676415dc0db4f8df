import JSON

extension JSONWriter {
  /// Writes the members of `object`, the text of a JSON object.
  mutating func members(of object: [UInt8]) {
    let inside = object.dropFirst().dropLast()
    guard inside.contains(where: { $0 > 0x20 }) else { return }
    raw(inside)
  }
}
