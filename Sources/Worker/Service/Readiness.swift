/// Whether a worker can do its work, and what is in the way.
struct Readiness: Equatable {
  static let gone = Readiness(isRedisReady: false, apns: .unreachable, isStopping: true)

  enum Gateway: String {
    /// At least one connection.
    case connected = "ok"
    case unreachable
    /// Polling-only mode.
    case notConfigured = "not configured"
  }

  var isRedisReady: Bool
  var apns: Gateway
  var isStopping: Bool

  var isReady: Bool { isRedisReady && apns != .unreachable && !isStopping }

  /// `{"ready":false,"redis":"unreachable","apns":"ok"}`
  var json: String {
    let redis = isRedisReady ? "ok" : "unreachable"
    return "{\"ready\":\(isReady),\"redis\":\"\(redis)\",\"apns\":\"\(apns.rawValue)\",\"stopping\":\(isStopping)}\n"
  }
}
