import Backup
import JSON
import PushModel

/// Parses comma-separated values (RFC 4180) that arrive in chunks. The first row names the columns.
struct CSVReader: BackupSource {
  /// What the columns are.
  struct Form: Sendable {
    /// The columns that must be there.
    let required: [String]
    /// The columns that may be there as well. Nil: all others are ignored.
    let optional: [String]?
    /// Receives the values that are there, by the names of their columns.
    let entry: @Sendable ([String: String]) -> BackupEntry
  }

  /// The maximum size of a row.
  private static let maximumBytes = 64 * 1024
  private static let maximumQuotedCharacters = 40

  private let form: Form
  /// Nil before the first row.
  private var columns: [String]?
  private(set) var line = 1

  init(_ form: Form) {
    self.form = form
  }

  mutating func next(in window: inout JSONWindow) throws(JSONWindow.Fault) -> BackupEntry? {
    while let row = try window.row(expectation, maximumBytes: Self.maximumBytes, CSVRow.end) {
      let bytes = CSVRow.withoutLineEnd(row.bytes)
      guard !bytes.isEmpty else { continue }
      line = row.line
      guard let columns else {
        self.columns = try header(row, CSVRow.fields(bytes))
        continue
      }
      return entry(columns, CSVRow.fields(bytes))
    }
    return nil
  }

  var mayEnd: Bool { columns != nil }

  var expectation: String { columns == nil ? "a row with the names of the columns" : "a row" }

  private func entry(_ columns: [String], _ fields: [String]?) -> BackupEntry {
    guard let fields, fields.count == columns.count else { return .refused(.malformedRecord) }
    var values: [String: String] = [:]
    for (column, field) in zip(columns, fields) where !AbsentValue.isInTable(field) { values[column] = field }
    return form.entry(values)
  }

  private func header(_ row: JSONWindow.Piece, _ fields: [String]?) throws(JSONWindow.Fault) -> [String] {
    guard let fields else { throw row.fault("the names of the columns are not CSV in UTF-8") }
    for name in form.required where !fields.contains(name) {
      throw row.fault("the first row has no column '\(name)', or its columns are not separated by commas")
    }
    for (index, name) in fields.enumerated() {
      let known = form.required + (form.optional ?? [name])
      guard known.contains(name) else {
        throw row.fault("unknown column '\(quoted(name))'; expected some of \(known.joined(separator: ", "))")
      }
      guard !fields[..<index].contains(name) else {
        throw row.fault("there are two columns '\(quoted(name))'")
      }
    }
    return fields
  }

  private func quoted(_ name: String) -> String {
    String(String.UnicodeScalarView(name.unicodeScalars.filter { (0x20..<0x7F).contains($0.value) }))
      .prefix(Self.maximumQuotedCharacters).description
  }
}

/// A row of comma-separated values.
enum CSVRow {
  private static let (quote, comma, lineFeed, carriageReturn): (UInt8, UInt8, UInt8, UInt8) = (0x22, 0x2C, 0x0A, 0x0D)

  private enum Place {
    case fieldStart
    case plain
    case quoted
    /// Behind a quote that ends the field, unless another one follows.
    case closed
  }

  /// Returns the number of bytes up to the end of the first row, or nil if it has none in `text`. A line end between quotes
  /// belongs to the row.
  static func end(of text: UnsafeBufferPointer<UInt8>, isLast: Bool) -> Int? {
    var place = Place.fieldStart
    for (index, byte) in text.enumerated() {
      switch (place, byte) {
      case (.quoted, quote): place = .closed
      case (.quoted, _): break
      case (_, lineFeed): return index + 1
      case (_, comma): place = .fieldStart
      case (.fieldStart, quote), (.closed, quote): place = .quoted
      default: place = .plain
      }
    }
    return isLast && place != .quoted ? text.count : nil
  }

  static func withoutLineEnd(_ row: [UInt8]) -> ArraySlice<UInt8> {
    var row = row[...]
    if row.last == lineFeed { row.removeLast() }
    if row.last == carriageReturn { row.removeLast() }
    return row
  }

  /// Returns the values of a row without its line end, or nil if it is malformed: a quote where none may be, or bytes that are not
  /// UTF-8.
  static func fields(_ row: ArraySlice<UInt8>) -> [String]? {
    var fields: [String] = []
    var rest = row
    while true {
      guard let field = rest.first == quote ? quotedField(&rest) : plainField(&rest) else { return nil }
      guard let text = String(validating: field, as: UTF8.self) else { return nil }
      fields.append(text)
      guard let separator = rest.popFirst() else { return fields }
      guard separator == comma else { return nil }
    }
  }

  private static func plainField(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
    let field = rest.prefix { $0 != comma }
    rest = rest[field.endIndex...]
    return field.contains(quote) ? nil : Array(field)
  }

  private static func quotedField(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
    rest.removeFirst()
    var field: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == quote {
        guard rest.first == quote else { return field }
        rest.removeFirst()
      }
      field.append(byte)
    }
    return nil
  }
}
