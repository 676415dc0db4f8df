/// The form of bundle ids.
public enum BundleID {
  /// Whether `text` is 1 to 200 letters, digits, `.`, `_` or `-`.
  public static func isWellFormed(_ text: String) -> Bool { Charset.bundleID.accepts(text) }
}
