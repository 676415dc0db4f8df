import PushModel

/// Which apps the Matrix push gateway sends to, by the `app_id` of a pusher: docs/http/matrix-api.md.
struct MatrixApps: Sendable {
  struct App: Sendable, Equatable {
    let bundleID: String
    /// Nil if it is unknown.
    let environment: PushEnvironment?

    init(bundleID: String, environment: PushEnvironment?) {
      self.bundleID = bundleID
      self.environment = environment
    }
  }

  /// Of the Matrix specification, for an `app_id`. Bytes.
  static let idLength = 1...64
  private static let wildcard = UInt8(ascii: "*")

  /// The most specific pattern first: the one with most characters beside `*`, then the one without any.
  private let apps: [(parts: [[UInt8]], app: App)]

  /// `apps` are by their patterns, in which `*` stands for any text.
  init(_ apps: [String: App]) {
    func rank(_ pattern: String) -> (Int, Int, String) {
      (-pattern.utf8.count { $0 != MatrixApps.wildcard }, pattern.utf8.count, pattern)
    }
    self.apps = apps.sorted { rank($0.key) < rank($1.key) }.map { pattern, app in
      (pattern.utf8.split(separator: MatrixApps.wildcard, omittingEmptySubsequences: false).map { Array($0) }, app)
    }
  }

  func app(of id: String) -> App? {
    guard MatrixApps.idLength.contains(id.utf8.count) else { return nil }
    let text = Array(id.utf8)
    return apps.first { MatrixApps.matches(text, $0.parts) }?.app
  }

  /// Whether the parts of a pattern, between its wildcards, follow each other in the text.
  private static func matches(_ text: [UInt8], _ parts: [[UInt8]]) -> Bool {
    guard let end = parts.dropFirst().last else { return text == parts[0] }
    guard text.count >= parts[0].count + end.count, text.starts(with: parts[0]), text.suffix(end.count) == end[...]
    else { return false }
    var rest = text[parts[0].count...].dropLast(end.count)
    for part in parts[1...].dropLast() where !part.isEmpty {
      guard let found = rest.firstRange(of: part) else { return false }
      rest = rest[found.upperBound...]
    }
    return true
  }
}
