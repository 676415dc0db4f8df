import Credentials
import EventLoop
import HTTPServer
import Redis
import Registry
import Telemetry

/// Who may call, and how often.
@EventLoop
struct Access {
  let credentials: Credentials
  let failures: FailureLimit
  private let limiter: RateLimiter
  private let configuration: SidecarConfiguration

  init(_ configuration: SidecarConfiguration, _ backend: Backend, metrics: Metrics, log: Log) {
    self.configuration = configuration
    credentials = backend.credentials
    limiter = RateLimiter(connection: backend.connection)
    failures = FailureLimit(configuration, limiter: limiter, metrics: metrics, log: log)
  }

  /// Whose request it is, for limits of requests without credentials.
  func client(of request: HTTPRequest) -> String { configuration.trustedProxies.client(of: request) }

  /// Takes one out of what `subject` may do. Returns how many seconds it has to wait instead when there is nothing left.
  func wait(_ action: LimitedAction, of subject: String) async throws(RedisError) -> Int? {
    guard let limit = configuration.limit(of: action) else { return nil }
    let count = try await limiter.count(action, of: subject, limit)
    return count.count > limit.count ? WindowCount.seconds(count.left) : nil
  }
}

extension SidecarConfiguration {
  fileprivate func limit(of action: LimitedAction) -> WindowLimit? {
    switch action {
    case .registration: registrationLimit
    case .testPush: testLimit
    case .broadcast: broadcastLimit
    case .failure: failureLimit
    }
  }
}
