import HTTPServer

/// Whether a worker can do its work, and what is in the way.
struct Readiness: Equatable {
  static let gone = Readiness(isRedisReady: false, isAPNsReady: false, isStopping: true)

  var isRedisReady: Bool
  /// At least one connection, or polling-only mode.
  var isAPNsReady: Bool
  var isStopping: Bool

  var isReady: Bool { isRedisReady && isAPNsReady && !isStopping }

  /// `{"ready":false,"redis":"unreachable","apns":"ok"}`
  var json: String {
    let redis = isRedisReady ? "ok" : "unreachable"
    let apns = isAPNsReady ? "ok" : "unreachable"
    return "{\"ready\":\(isReady),\"redis\":\"\(redis)\",\"apns\":\"\(apns)\",\"stopping\":\(isStopping)}\n"
  }

  var response: HTTPResponse { .json(Array(json.utf8), status: isReady ? 200 : 503) }
}
