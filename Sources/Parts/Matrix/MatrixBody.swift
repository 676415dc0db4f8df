import JSON
import Sidecar

/// The body of a notification, in which the content of an event stands as a member of the room wrote it.
enum MatrixBody {
  /// A number of more bytes has no meaning for an app.
  private static let maximumNumberBytes = 300
  private static let null = Array("null".utf8)

  /// Returns the body as a JSON object, if need be without what is nested too deep, and without numbers that are too large.
  ///
  /// A homeserver sends a notification that is refused again and again, and until then no other one for its user.
  static func object(_ body: [UInt8]) throws(Refusal) -> JSONValue {
    do { return try RequestBody.object(body) } catch {
      guard let value = try? JSONValue(parsing: readable(body)), value.members != nil else { throw error }
      return value
    }
  }

  /// Returns JSON with null in place of objects and arrays that are too deep for a ``JSONReader``, and of numbers that are too
  /// long.
  private static func readable(_ body: [UInt8]) -> [UInt8] {
    var (kept, depth, at): ([UInt8], Int, Int) = ([], 0, 0)
    while at < body.count {
      var token = body[at..<tokenEnd(in: body, from: at)]
      at = token.endIndex
      let (first, isOpen) = (token[token.startIndex], depth <= JSONReader.maximumDepth)
      switch first {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        if depth > JSONReader.maximumDepth { token = null[...] }
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: "\""): break
      default: if token.count > maximumNumberBytes { token = null[...] }
      }
      if isOpen { kept += token }
    }
    return kept
  }

  /// Returns where a string, a number or a single byte ends.
  private static func tokenEnd(in body: [UInt8], from start: Int) -> Int {
    switch body[start] {
    case UInt8(ascii: "\""):
      var at = start + 1
      while at < body.count, body[at] != UInt8(ascii: "\"") { at += body[at] == UInt8(ascii: "\\") ? 2 : 1 }
      return min(at + 1, body.count)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      return body[start...].firstIndex { !"+-.0123456789Ee".utf8.contains($0) } ?? body.count
    default: return start + 1
    }
  }
}
