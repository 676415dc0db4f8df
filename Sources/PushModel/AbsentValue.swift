/// Texts that programs write where there is no value, with white space around them or without.
public enum AbsentValue {
  /// In any case of letters: what JavaScript writes, descriptions in Java, Swift and Go, and PostgreSQL's COPY.
  private static let symbols: Set<String> = ["undefined", "[object object]", "(null)", "<null>", "<nil>", "\\n"]
  /// Only as programs spell them: in another case these are names of people, such as Null and Nan.
  private static let words: Set<String> = ["null", "NULL", "None", "nil", "NaN", "nan"]
  /// In any case of letters, where a table says it.
  private static let inTables = symbols.union(["null", "none", "nil", "nan", "n/a", "#n/a"])

  /// Whether no request means this text, as it was sent.
  public static func isCertain(_ text: String) -> Bool {
    bare(text).map { words.contains($0) || symbols.contains($0.lowercased()) } ?? false
  }

  /// Whether the column of a table, or the member of an export, with this text has no value.
  public static func isInTable(_ text: String) -> Bool {
    bare(text).map { $0.isEmpty || inTables.contains($0.lowercased()) } ?? false
  }

  /// No such text is longer than this.
  private static let maximumBytes = 16

  /// The text without white space around it; nil if it is too long.
  private static func bare(_ text: String) -> String? {
    var scalars = text.unicodeScalars[...]
    while scalars.first?.properties.isWhitespace == true { scalars.removeFirst() }
    while scalars.last?.properties.isWhitespace == true { scalars.removeLast() }
    let bare = Substring(scalars)
    return bare.utf8.count <= maximumBytes ? String(bare) : nil
  }
}
