/// Quotes a value for a fault, which is shown on a terminal or in a log. Any value may contain a secret by mistake.
package enum ValueQuote {
  /// The kind of value that a setting has.
  package enum Kind {
    case plain
    /// A URL that may carry a password or a token.
    case url
    /// The path of a file that may contain a key. The value may be the key itself by mistake.
    case path
    case secret
  }

  /// The number of scalars to which a value is cut. A character may be as long as the file.
  private static let maximumLength = 120
  /// A run of this many base64 characters may be a key or a token.
  private static let suspiciousRun = 40
  private static let maximumSchemeLength = 20
  private static let maximumExtensionLength = 10
  private static let hostPunctuation = "._-*"

  /// Returns the value in quotes without the parts that may be a secret.
  package static func text(_ value: String, as kind: Kind = .plain) -> String {
    let shown =
      switch kind {
      case .secret: nil as String?
      case .url: url(value, isPathShown: false)
      case .path: isPath(value) ? value : nil
      case .plain: plain(value)
      }
    guard let shown, !isSuspicious(shown) else { return "'…' (\(value.utf8.count) bytes, not shown)" }
    let scalars = shown.unicodeScalars
    return scalars.count > maximumLength ? "'\(String(scalars.prefix(maximumLength)))…'" : "'\(shown)'"
  }

  private static func plain(_ value: String) -> String? {
    if value.contains("://") { return url(value, isPathShown: true) }
    return value.contains("@") ? nil : value
  }

  /// Returns a URL without user, password, query and fragment, or nil if they cannot be found.
  private static func url(_ value: String, isPathShown: Bool) -> String? {
    let parts = value.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].count <= maximumSchemeLength, parts[0].allSatisfy(isSchemeCharacter) else {
      return nil
    }
    let authority = parts[1].prefix { !"/?#\\".contains($0) }
    let rest = parts[1][authority.endIndex...]
    // A password may contain a slash.
    guard !rest.contains("@") else { return "\(parts[0])://…" }
    let credentials = authority.lastIndex(of: "@")
    let host = credentials.map { authority[authority.index(after: $0)...] } ?? authority
    let path = rest.prefix { !"?#".contains($0) }
    return "\(parts[0])://\(credentials == nil ? "" : "…@")\(isHost(host) ? String(host) : "…")"
      + (isPathShown || path.count <= 1 ? String(path) : "/…") + (path.endIndex == rest.endIndex ? "" : "…")
  }

  /// Returns whether the text is `host` or `[IPv6 address]`, with or without a port.
  private static func isHost(_ text: Substring) -> Bool {
    var name = text
    if let colon = text.lastIndex(of: ":"), text.last != "]" {
      let port = text[text.index(after: colon)...]
      guard (1...5).contains(port.count), port.allSatisfy({ $0.isASCII && $0.isNumber }) else { return false }
      name = text[..<colon]
    }
    if name.first == "[", name.last == "]" {
      return name.dropFirst().dropLast().allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
    }
    return name.allSatisfy { isLetterOrDigit($0) || hostPunctuation.contains($0) }
  }

  /// Returns whether the value looks like a path: absolute, relative with dots, or with an extension.
  private static func isPath(_ value: String) -> Bool {
    guard !value.contains("://"), !value.contains(where: \.isNewline) else { return false }
    // Paths of systemd contain an @.
    guard !value.contains("@") || (value.hasPrefix("/") && !value.contains(":")) else { return false }
    if ["/", "./", "../"].contains(where: value.hasPrefix) { return true }
    guard let dot = value.lastIndex(of: ".") else { return false }
    let name = value[value.index(after: dot)...]
    return (1...maximumExtensionLength).contains(name.count) && name.allSatisfy(isLetterOrDigit)
  }

  private static func isSuspicious(_ text: String) -> Bool {
    if text.contains("-----") { return true }
    // A slash is a separator in a path or a URL, and a digit in base64.
    let isSeparated = text.contains("://") || isPath(text)
    var run = 0
    for character in text {
      let isDigit = isLetterOrDigit(character) || "+=_-".contains(character) || (character == "/" && !isSeparated)
      run = isDigit ? run + 1 : 0
      if run >= suspiciousRun { return true }
    }
    return false
  }

  private static func isSchemeCharacter(_ character: Character) -> Bool {
    isLetterOrDigit(character) || "+.-".contains(character)
  }

  private static func isLetterOrDigit(_ character: Character) -> Bool {
    character.isASCII && (character.isLetter || character.isNumber)
  }
}
