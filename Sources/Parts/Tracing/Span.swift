/// A part of a trace, as OpenTelemetry defines it.
struct Span: Sendable, Equatable {
  /// The number is that of the protocol.
  enum Kind: Int64 {
    case `internal` = 1
    case client = 3
    case consumer = 5
  }

  enum Value: Sendable, Equatable {
    case string(String)
    case integer(Int64)
  }

  struct Attribute: Sendable, Equatable {
    var key: String
    var value: Value
  }

  /// 32 hexadecimal digits.
  var traceID: String
  /// 16 hexadecimal digits.
  var id: String
  /// Nil for the first span of a trace.
  var parentID: String?
  var name: String
  var kind: Kind
  /// Unix nanoseconds.
  var start: UInt64
  /// Unix nanoseconds.
  var end: UInt64
  var attributes: [Attribute] = []
  /// Why the span failed; nil if it did not.
  var error: String?

  /// Adds an attribute, unless its value is nil.
  mutating func set(_ key: String, _ value: String?) {
    if let value { attributes.append(Attribute(key: key, value: .string(value))) }
  }

  mutating func set(_ key: String, _ value: some BinaryInteger) {
    attributes.append(Attribute(key: key, value: .integer(Int64(clamping: value))))
  }
}
