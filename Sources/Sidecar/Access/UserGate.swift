package import Credentials
package import EventLoop
package import HTTPServer
import PushModel
import Redis

/// The checks before every route of a user, in this order: origin, method, credentials present, Redis configured, credentials
/// valid. See docs/http/push-api.md.
@EventLoop
package struct UserGate {
  package typealias Work =
    @EventLoop (_ user: Credential, _ storage: APIContext.Storage) async throws(Refusal) -> HTTPResponse

  private let context: APIContext
  private let crossOrigin: CrossOrigin

  package init(_ context: APIContext, methods: [String]) {
    self.context = context
    crossOrigin = CrossOrigin(policy: context.configuration.originPolicy, methods: methods)
  }

  /// Does `work` for the user whose credentials the request has.
  package func respond(to request: SidecarRequest, _ work: Work) async throws(Refusal) -> HTTPResponse {
    let fields = try crossOrigin.admit(request.http)
    let credentials = BearerCredentials(request.http.headers)
    guard credentials != .missing else { throw Refusal(.unauthorized, "Unauthorized - missing credentials") }
    let storage = try context.requireStorage()
    guard let user = try await user(credentials, request.http, storage.access) else {
      throw Refusal(.unauthorized, "Unauthorized - invalid token")
    }
    storage.access.uses.record(user)
    return try await work(user, storage).with(fields)
  }

  /// Whether the work may be done, as far as the header fields tell.
  package func mayAdmit(_ request: HTTPRequest) -> Bool {
    guard crossOrigin.admits(request), let access = context.storage?.access,
      case .named(let sent, _) = BearerCredentials(request.headers),
      let username = Credential.normalized(sent, of: .user)
    else { return false }
    return !access.isBlocked(.user, username, request)
  }

  package func response(to refusal: Refusal, of request: HTTPRequest) -> HTTPResponse {
    crossOrigin.response(to: refusal, of: request, \.response)
  }

  /// Returns nil for invalid credentials. Malformed ones, and names that no user can have, count as failures too.
  private func user(
    _ credentials: BearerCredentials, _ request: HTTPRequest, _ access: Access
  ) async throws(Refusal) -> Credential? {
    let proxies = access.trustedProxies
    guard case .named(let sent, let token) = credentials, let username = Credential.normalized(sent, of: .user) else {
      return try await access.failures.checking(.user, "", of: request, proxies) { nil }
    }
    return try await access.failures.checking(.user, username, of: request, proxies) {
      () async throws(RedisError) -> Credential? in
      try await access.credentials.enabled(.user, username, secret: token)
    }
  }
}

/// The credentials of a user: `Authorization: Bearer <token>` and `X-Username`.
package enum BearerCredentials: Equatable {
  /// A header field is missing.
  case missing
  /// A header field is repeated, or the token is too long.
  case invalid
  case named(username: String, token: String)

  /// In lower case.
  private static let scheme = "bearer"
  private static let maximumTokenBytes = 512

  /// Accepts the scheme in any case, and normalises the username.
  package init(_ headers: HTTPHeaders) {
    let authorizations = headers.values(of: "authorization")
    let usernames = headers.values(of: "x-username")
    guard let authorization = authorizations.first, let username = usernames.first.map({ Username($0) }),
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
    self = .named(username: username.text, token: token)
  }

  /// Returns nil for another scheme, or if nothing follows it.
  private static func token(_ authorization: String) -> String? {
    let text = authorization.trimmed
    guard let space = text.utf8.firstIndex(where: { $0 == 0x20 || $0 == 0x09 }),
      text.utf8[..<space].elementsEqual(scheme.utf8, by: { $0 | 0x20 == $1 })
    else { return nil }
    let token = text[space...].dropFirst().trimmed
    return token.isEmpty ? nil : token
  }
}
