/// The trace that a job is a part of: a W3C `traceparent`, `00-<trace id>-<parent id>-<flags>`.
public struct TraceParent: Sendable, Equatable {
  /// All of it: 55 characters, hexadecimal digits in lower case.
  public let text: String

  package static let expected =
    "a W3C traceparent, 00-<32 hex digits>-<16 hex digits>-<2 hex digits> in lower case, no id all zeros"
  private static let length = 55
  private static let traceID = 3..<35
  private static let parentID = 36..<52
  private static let flags = 53..<55

  /// Returns nil unless `text` is a `traceparent` of version 00.
  public init?(_ text: String) {
    guard TraceParent.isValid(Array(text.utf8)) else { return nil }
    self.text = text
  }

  /// Makes one of a header of any version, as that of version 00. Returns nil if it is malformed.
  public init?(header: String) {
    var bytes = Array(header.utf8)
    guard bytes.count >= TraceParent.length, !bytes.starts(with: Array("ff".utf8)),
      bytes[..<2].allSatisfy(TraceParent.isDigit)
    else { return nil }
    let isVersion00 = bytes.starts(with: Array("00".utf8))
    // A later version may append fields.
    guard bytes.count == TraceParent.length || (!isVersion00 && bytes[TraceParent.length] == UInt8(ascii: "-")) else {
      return nil
    }
    bytes = Array("00".utf8) + bytes[2..<TraceParent.length]
    guard TraceParent.isValid(bytes) else { return nil }
    text = String(decoding: bytes, as: UTF8.self)
  }

  /// 32 hexadecimal digits.
  public var traceID: String { part(TraceParent.traceID) }
  /// 16 hexadecimal digits: the span that this job is a child of.
  public var parentID: String { part(TraceParent.parentID) }
  /// Whether the trace is recorded.
  public var isSampled: Bool { (UInt8(part(TraceParent.flags), radix: 16) ?? 0) & 1 == 1 }

  private func part(_ range: Range<Int>) -> String {
    String(decoding: Array(text.utf8)[range], as: UTF8.self)
  }

  private static func isValid(_ bytes: [UInt8]) -> Bool {
    guard bytes.count == length, bytes[0] == UInt8(ascii: "0"), bytes[1] == UInt8(ascii: "0") else { return false }
    guard [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }) else { return false }
    return [traceID, parentID, flags].allSatisfy { bytes[$0].allSatisfy(isDigit) }
      && [traceID, parentID].allSatisfy { bytes[$0].contains { $0 != UInt8(ascii: "0") } }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
  }
}
