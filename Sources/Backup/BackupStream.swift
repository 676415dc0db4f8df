import EventLoop
package import JSON

/// Reads the entries of a file in batches.
@EventLoop
final class BackupStream<Source: BackupSource> {
  private let file: BackupFile
  private var text: BackupText<Source>
  private var fault: JSONWindow.Fault?
  private var isAtStart = true
  private var isAtEnd = false
  /// The lines on which the entries of the last batch begin.
  private(set) var lines: [Int] = []

  init(_ file: BackupFile, _ source: Source) {
    self.file = file
    text = BackupText(source)
  }

  /// Returns up to `limit` entries, or nil after the last. Throws a fault of the file after the entries before it.
  func next(limit: Int) async throws(BackupError) -> [BackupEntry]? {
    var batch: [BackupEntry] = []
    lines = []
    while batch.count < limit {
      if let fault {
        guard batch.isEmpty else { return batch }
        throw .format(fault, file: file.name)
      }
      do throws(JSONWindow.Fault) {
        if let entry = try text.next() {
          batch.append(entry)
          lines.append(text.line)
          continue
        }
      } catch {
        fault = error
        continue
      }
      guard !isAtEnd else { return batch.isEmpty ? nil : batch }
      let chunk = try await file.read()
      if isAtStart, let compression = Compression(chunk) { throw .file(compression.fault(of: file.name)) }
      isAtStart = false
      isAtEnd = chunk.isEmpty
      if isAtEnd { text.window.close() } else { text.window.append(chunk) }
    }
    return batch
  }
}

/// Finds the entries in a text.
package protocol BackupSource: Sendable {
  /// Whether the text may end here.
  var mayEnd: Bool { get }
  /// What must come next, for faults.
  var expectation: String { get }
  /// The line on which the last entry begins, from 1.
  var line: Int { get }

  /// Returns the next entry of `window`. Nil means that more bytes are needed.
  mutating func next(in window: inout JSONWindow) throws(JSONWindow.Fault) -> BackupEntry?
}

extension BackupSource {
  /// Takes one of these characters and returns it, or nil if more bytes are needed.
  func mark(_ marks: String, in window: inout JSONWindow) throws(JSONWindow.Fault) -> UInt8? {
    guard let byte = window.peek() else { return nil }
    guard marks.utf8.contains(byte) else { throw window.unexpected(expectation) }
    window.take()
    return byte
  }
}

/// A text that arrives in chunks, and what finds the entries in it.
package struct BackupText<Source: BackupSource>: Sendable {
  package var window = JSONWindow()
  private var source: Source

  package init(_ source: Source) {
    self.source = source
  }

  /// The line on which the last entry begins, from 1.
  package var line: Int { source.line }

  /// Returns the next entry. Nil means that more bytes are needed or, if the window is closed, that there are no more
  /// entries.
  package mutating func next() throws(JSONWindow.Fault) -> BackupEntry? {
    if let entry = try source.next(in: &window) { return entry }
    guard !window.isClosed || source.mayEnd else { throw window.unexpected(source.expectation) }
    return nil
  }
}

/// The record of an entry, which is valid JSON.
enum BackupRecord {
  case object(JSONValue)
  /// Its meaning is not defined: a number is out of range, or a key is there twice.
  case ambiguous
}

extension JSONWindow {
  /// Returns the text of a key, or nil if more bytes are needed.
  mutating func key(_ what: String) throws(Fault) -> String? {
    guard let piece = try string(what, maximumBytes: BackupFormat.maximumKeyBytes) else { return nil }
    var reader = JSONReader(piece.bytes)
    do {
      return try reader.readString()
    } catch {
      throw piece.fault("\(what): \(error)")
    }
  }

  /// Returns an object, or nil if more bytes are needed.
  mutating func record(_ what: String, maximumBytes: Int) throws(Fault) -> BackupRecord? {
    guard let piece = try object(what, maximumBytes: maximumBytes) else { return nil }
    do throws(JSONError) {
      var reader = JSONReader(piece.bytes)
      try reader.skipValue()
      try reader.end()
    } catch {
      throw piece.fault("in \(what) that begins here: \(error), counted from there")
    }
    do throws(JSONError) {
      return .object(try JSONValue(parsing: piece.bytes))
    } catch {
      return .ambiguous
    }
  }
}
