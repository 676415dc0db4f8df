import PushModel
import HTTPServer
import Registry

/// Who asks: `Authorization: Bearer <token>` and `X-Username`.
enum BearerCredentials: Equatable {
  /// One of them is not there.
  case missing
  /// Two of a kind, or too long: nobody's.
  case invalid
  case named(username: String, token: String)

  private static let scheme = "bearer"
  private static let maximumTokenBytes = 512

  /// The scheme in any case; the username normalised.
  init(_ headers: HTTPHeaders) {
    let authorizations = headers.values(of: "Authorization")
    let usernames = headers.values(of: "X-Username")
    guard let authorization = authorizations.first, let username = usernames.first.map(Username.normalized),
      let token = BearerCredentials.token(authorization), !username.isEmpty
    else {
      self = .missing
      return
    }
    let isSingle = authorizations.count == 1 && usernames.count == 1
    guard isSingle, token.utf8.count <= BearerCredentials.maximumTokenBytes else {
      self = .invalid
      return
    }
    self = .named(username: username, token: token)
  }

  /// Nil when it is another scheme, or nothing follows it.
  private static func token(_ authorization: String) -> String? {
    let text = authorization.trimmed
    guard let space = text.utf8.firstIndex(where: { $0 == 0x20 || $0 == 0x09 }),
      text[..<space].lowercased() == scheme
    else { return nil }
    let token = text[space...].dropFirst().trimmed
    return token.isEmpty ? nil : token
  }
}
