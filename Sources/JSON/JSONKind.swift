/// What a value is, as its first byte tells.
public enum JSONKind: Sendable, Equatable {
  case null, bool, number, string, array, object
  /// A number without fraction; only ever expected, never found.
  case integer
}

extension JSONKind: CustomStringConvertible {
  /// With its article: `a string`.
  public var description: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .number: "a number"
    case .integer: "an integer"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}
