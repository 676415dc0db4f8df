import JSON
import PushModel

/// The origin of a page: scheme, host and port, in lower case.
struct WebOrigin: Sendable, Equatable {
  let scheme: String
  /// An IPv6 address is in brackets.
  let host: String
  /// Nil for the scheme's default port.
  let port: UInt16?

  private static let maximumBytes = 512
  private static let schemeCharacters = Charset("+-.", length: 1...maximumBytes)
  private static let addressCharacters = Charset(":.", length: 1...maximumBytes)
  private static let labelCharacters = Charset("-_", length: 1...maximumBytes)

  /// Reads an Origin header. Returns nil unless it is `scheme://host[:port]`, without a user or a path.
  init?(parsing text: some StringProtocol) {
    guard text.utf8.count <= WebOrigin.maximumBytes, text.utf8.allSatisfy({ $0 < 0x80 }),
      let separator = text.firstIndex(of: ":")
    else { return nil }
    let scheme = text[..<separator]
    let rest = text[separator...]
    guard WebOrigin.isScheme(scheme), rest.hasPrefix("://") else { return nil }
    let authority = rest.dropFirst(3)
    // The colons of an IPv6 address come before its closing bracket.
    let bracket = authority.lastIndex(of: "]") ?? authority.startIndex
    let colon = authority[bracket...].firstIndex(of: ":")
    let host = authority[..<(colon ?? authority.endIndex)]
    guard WebOrigin.isHost(host) else { return nil }
    self.scheme = scheme.lowercased()
    self.host = host.lowercased()
    guard let colon else {
      port = nil
      return
    }
    let digits = authority[authority.index(after: colon)...]
    guard let number = digits.integer(in: 1...UInt16.max) else { return nil }
    port = number == WebOrigin.defaultPort(self.scheme) ? nil : number
  }

  /// Reads the origin of an address, as in a Referer header.
  init?(ofPage address: String) {
    let bytes = address.utf8.prefix(WebOrigin.maximumBytes + 1)
    guard let scheme = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[scheme...].starts(with: "://".utf8) else {
      return nil
    }
    let start = bytes.index(scheme, offsetBy: 3)
    let end = bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex
    self.init(parsing: Substring(bytes[..<end]))
  }

  var effectivePort: UInt16 { port ?? WebOrigin.defaultPort(scheme) }

  /// The origin as browsers write it.
  var text: String { "\(scheme)://\(host)" + (port.map { ":\($0)" } ?? "") }

  private static func defaultPort(_ scheme: String) -> UInt16 { scheme == "https" ? 443 : 80 }

  private static func isScheme(_ text: some StringProtocol) -> Bool {
    text.first?.isLetter == true && schemeCharacters.accepts(String(text))
  }

  private static func isHost(_ text: some StringProtocol) -> Bool {
    if text.hasPrefix("[") {
      return text.hasSuffix("]") && addressCharacters.accepts(String(text.dropFirst().dropLast()))
    }
    let labels = text.split(separator: ".", omittingEmptySubsequences: false)
    return labels.allSatisfy { labelCharacters.accepts(String($0)) }
  }
}
