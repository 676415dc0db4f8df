package import JSON

/// Makes entries of a text that comes in pieces.
package protocol BackupSource: Sendable {
  mutating func append(_ chunk: [UInt8])
  /// No more comes.
  mutating func close()
  /// Nil: more bytes are needed; after ``close()``: that was all.
  mutating func next() throws(JSONWindow.Fault) -> BackupEntry?
}

extension JSONWindow {
  /// The text of a key; nil when more bytes are needed.
  mutating func key(_ what: String) throws(Fault) -> String? {
    guard let piece = try string(what, maximumBytes: BackupFormat.maximumKeyBytes) else { return nil }
    var reader = JSONReader(piece.bytes)
    do {
      return try reader.readString()
    } catch {
      throw piece.fault("\(what): \(error)")
    }
  }

  /// A whole object; nil when more bytes are needed.
  mutating func record(_ what: String, maximumBytes: Int) throws(Fault) -> JSONValue? {
    guard let piece = try object(what, maximumBytes: maximumBytes) else { return nil }
    do {
      return try JSONValue(parsing: piece.bytes)
    } catch {
      throw piece.fault("in \(what) that begins here: \(error), counted from there")
    }
  }

  /// Takes one of these marks; nil when more bytes are needed.
  mutating func mark(_ marks: String, expected: String) throws(Fault) -> UInt8? {
    guard let byte = peek() else { return nil }
    guard marks.utf8.contains(byte) else { throw unexpected(expected) }
    take()
    return byte
  }
}
