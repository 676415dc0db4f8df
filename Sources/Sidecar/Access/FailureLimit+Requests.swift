import Credentials
import EventLoop
import HTTPServer
import Redis

extension FailureLimit {
  /// Returns what `find` returns: nil for invalid credentials, which count as a failure of the client of `request`. Throws
  /// 429 if it has failed too often.
  func checking<Found>(
    _ kind: Credential.Kind, _ name: String, of request: HTTPRequest, _ proxies: TrustedProxies,
    _ find: @EventLoop () async throws(RedisError) -> Found?
  ) async throws(Refusal) -> Found? {
    do throws(FailureLimit.Fault) {
      let address = proxies.clientAddress(of: request)
      return try await check(kind, name, from: address.client, at: address.site, find)
    } catch {
      switch error {
      case .redis(let fault): throw Refusal(fault)
      case .blocked(let kind, let left):
        throw .tooManyRequests(
          "too many wrong \(kind.secrets) came from this address", after: WindowCount.seconds(left))
      }
    }
  }
}

extension Credential.Kind {
  /// Its secrets, in the text of a refusal.
  fileprivate var secrets: String {
    switch self {
    case .user: "bearer tokens"
    case .key: "API keys"
    case .instance: "device keys"
    case .operator: "secrets of operators"
    }
  }
}
