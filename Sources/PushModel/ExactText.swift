/// A text from outside that is compared by its bytes, as Redis compares keys and members.
///
/// Swift's `String` calls `\u{E9}` and `e\u{301}` equal, which are two keys of Redis: a text from outside is never the key of a dictionary
/// or a member of a set as a `String`, unless its form excludes other characters than ASCII.
public struct ExactText: Sendable, Hashable {
  public let text: String

  public init(_ text: String) {
    self.text = text
  }

  public static func == (left: ExactText, right: ExactText) -> Bool { left.text.hasSameBytes(as: right.text) }

  public func hash(into hasher: inout Hasher) {
    text.utf8.span.withUnsafeBufferPointer { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    // No text contains this byte.
    hasher.combine(0xFF as UInt8)
  }
}

extension String {
  /// Whether both texts are the same to Redis.
  public func hasSameBytes(as other: String) -> Bool {
    // As buffers, because the iterator of a view costs many times as much for each byte.
    utf8.span.withUnsafeBufferPointer { bytes in
      other.utf8.span.withUnsafeBufferPointer { bytes.count == $0.count && bytes.elementsEqual($0) }
    }
  }
}

extension ExactText: Comparable {
  public static func < (left: ExactText, right: ExactText) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }
}

extension ExactText: CustomStringConvertible {
  public var description: String { text }
}

extension ExactText: ExpressibleByStringInterpolation {
  public init(stringLiteral text: String) { self.init(text) }
}
