import HTTPServer
import PushModel

/// The cookie that holds the id of a session.
struct SessionCookie: Sendable, Equatable {
  private static let plainName = "martlet-session"
  /// Browsers accept a cookie of such a name only over TLS, for all paths, and from this host itself.
  private static let hostName = "__Host-martlet-session"
  private static let idCharacters = Charset("-_.", length: 1...128)

  /// Whether the browser speaks TLS, with the dashboard or with a proxy in front of it.
  let isSecure: Bool

  private var name: String { isSecure ? SessionCookie.hostName : SessionCookie.plainName }

  /// Returns the id of the session; nil if there is none, or if there are several.
  func id(in headers: HTTPHeaders) -> SessionID? {
    var found: [Substring] = []
    for field in headers.values(of: "cookie") {
      for pair in field.split(separator: ";") {
        let trimmed = pair.drop { $0 == " " || $0 == "\t" }
        guard let equals = trimmed.firstIndex(of: "="), trimmed[..<equals] == name else { continue }
        found.append(trimmed[trimmed.index(after: equals)...])
      }
    }
    guard found.count == 1, SessionCookie.idCharacters.accepts(String(found[0])) else { return nil }
    return SessionID(found[0])
  }

  /// Returns the value of `Set-Cookie` that stores a session for `seconds` seconds.
  func setting(_ id: SessionID, seconds: Int) -> String { "\(name)=\(id.text); Max-Age=\(seconds)\(attributes)" }

  /// The value of `Set-Cookie` that removes the cookie.
  var removal: String { "\(name)=; Max-Age=0\(attributes)" }

  private var attributes: String { "; Path=/; HttpOnly; SameSite=Lax" + (isSecure ? "; Secure" : "") }
}

extension SessionCookie {
  init(_ request: HTTPRequest, hasTLS: Bool, trusting proxies: TrustedProxies) {
    let isForwarded =
      proxies.areTrusted(in: request) && request.headers.firstEntry(of: "x-forwarded-proto")?.lowercased() == "https"
    isSecure = hasTLS || isForwarded
  }
}
