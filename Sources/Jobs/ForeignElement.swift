import Crypto
import JSON

/// What an element that is no job looks like. Producers put it there through a library that encodes in its own way.
enum ForeignElement: String, CaseIterable {
  case byteOrderMark = "a byte order mark before the JSON; encode it without one"
  case utf16 = "UTF-16; encode the JSON in UTF-8"
  case pickle = "a pickle of Python; serialize as JSON"
  case javaObject = "an object in Java's serialization; serialize as JSON"
  case messagePack = "MessagePack; serialize as JSON"
  case encodedTwice = "JSON inside a JSON string; encode it once"
  case jobs = "an array of jobs; LPUSH each job as an element of its own"
  case base64 = "JSON in base64; LPUSH the JSON itself"
  case form = "a form; serialize as JSON"

  /// Nil for anything else, and for an object.
  init?(_ bytes: [UInt8]) {
    guard let found = ForeignElement.allCases.first(where: { $0.matches(bytes) }) else { return nil }
    self = found
  }

  var error: JobError { JobError(reason: "not a job: looks like \(rawValue)") }

  private func matches(_ bytes: [UInt8]) -> Bool {
    func begins(_ start: UInt8...) -> Bool { bytes.starts(with: start) }
    switch self {
    case .byteOrderMark: return begins(0xEF, 0xBB, 0xBF)
    case .utf16: return begins(0xFF, 0xFE) || begins(0xFE, 0xFF) || begins(0x7B, 0) || begins(0, 0x7B)
    // Protocols 2 to 5 begin with their number, protocol 0 with a mark and the opcode of a dictionary.
    case .pickle: return (2...5).contains { begins(0x80, $0) } || bytes.starts(with: Array("(dp".utf8))
    case .javaObject: return begins(0xAC, 0xED)
    // A map of up to 15 members, or of more.
    case .messagePack: return bytes.first.map { (0x80...0x8F).contains($0) || $0 == 0xDE || $0 == 0xDF } ?? false
    case .encodedTwice:
      return ForeignElement.value(bytes)?.string.map { ForeignElement.isObject(Array($0.utf8)) } ?? false
    case .jobs: return ForeignElement.value(bytes)?.array?.first?.members != nil
    case .base64: return Base64.decode(bytes).map(ForeignElement.isObject) ?? false
    case .form:
      guard let first = bytes.first, !Array("{[\"".utf8).contains(first) else { return false }
      guard let end = bytes.firstIndex(of: UInt8(ascii: "=")), end > 0 else { return false }
      return bytes[..<end].allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
  }

  private static func value(_ bytes: [UInt8]) -> JSONValue? { try? JSONValue(parsing: bytes) }

  private static func isObject(_ bytes: [UInt8]) -> Bool { value(bytes)?.members != nil }
}
