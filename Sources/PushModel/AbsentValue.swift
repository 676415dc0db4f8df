/// Texts that programs write where there is no value.
public enum AbsentValue {
  /// Nobody is called so, and no app or phone has such a name: what JavaScript, and descriptions in Java and Swift, write.
  private static let certain: Set<String> = ["null", "undefined", "[object object]", "(null)", "<null>", "\\n"]
  /// In a table also what databases and other languages write. A user may be called so where it is not a table that says it.
  private static let inTables = certain.union(["none", "nil", "nan", "<nil>", "n/a", "#n/a"])

  /// Whether no request means this text.
  public static func isCertain(_ text: String) -> Bool { contains(text, certain) }

  /// Whether the column of a table, or the member of an export, with this text has no value.
  public static func isInTable(_ text: String) -> Bool { text.isEmpty || contains(text, inTables) }

  /// No such text is longer than this.
  private static let maximumBytes = 16

  private static func contains(_ text: String, _ values: Set<String>) -> Bool {
    text.utf8.count <= maximumBytes && values.contains(text.lowercased())
  }
}
