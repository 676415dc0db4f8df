import JSON

/// A reply of Redis, copied out of the connection's buffer.
public enum RedisValue: Sendable, Equatable {
  case null
  case integer(Int64)
  case status(String)
  case bytes([UInt8])
  case array([RedisValue])
  /// Occurs only within an array; an error that is the whole reply is a ``RedisError/reply(_:)``.
  case error(RedisReplyError)
}

extension RedisValue {
  /// An integer within ±2^48, such as the code of a script; nil for any other value.
  public var integer: Int64? {
    integer(in: -NumberRange.counts.upperBound...NumberRange.counts.upperBound)
  }

  /// A number of things; nil for any other value.
  public var count: Int? { integer(in: NumberRange.counts).map { Int($0) } }

  public func integer(in range: ClosedRange<Int64>) -> Int64? {
    guard case .integer(let integer) = self, range.contains(integer) else { return nil }
    return integer
  }

  public var bytes: [UInt8]? {
    if case .bytes(let bytes) = self { bytes } else { nil }
  }

  /// The value of a key that is never written empty; nil if the key is absent, for which some servers reply with empty
  /// bytes.
  public var contents: [UInt8]? {
    bytes.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Bytes or a status as text. Invalid UTF-8 is replaced by U+FFFD.
  public var string: String? {
    switch self {
    case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
    case .status(let status): status
    default: nil
    }
  }

  public var array: [RedisValue]? {
    if case .array(let array) = self { array } else { nil }
  }

  public var isNull: Bool { self == .null }
}
