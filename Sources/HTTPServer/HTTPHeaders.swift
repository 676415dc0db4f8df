/// Header fields in the order in which they came; repeated ones are kept.
public struct HTTPHeaders: Sendable {
  public private(set) var fields: [(name: String, value: String)] = []

  public init(_ fields: [(name: String, value: String)] = []) {
    self.fields = fields
  }

  public mutating func append(_ name: String, _ value: String) {
    fields.append((name, value))
  }

  /// The first value; names are compared without regard to case.
  public subscript(name: String) -> String? {
    fields.first { HTTPHeaders.isSame($0.name, name) }?.value
  }

  public func values(of name: String) -> [String] {
    fields.filter { HTTPHeaders.isSame($0.name, name) }.map(\.value)
  }

  private static func isSame(_ left: String, _ right: String) -> Bool {
    left.utf8.count == right.utf8.count && zip(left.utf8, right.utf8).allSatisfy { lowered($0) == lowered($1) }
  }

  private static func lowered(_ byte: UInt8) -> UInt8 {
    byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
  }
}
