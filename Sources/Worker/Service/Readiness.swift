import HTTPServer
import JSON
import Jobs

/// Whether a worker can do its work, and what is in the way.
struct Readiness: Equatable {
  static let gone = Readiness(isRedisReady: false, isAPNsReady: false, isStopping: true)

  var isRedisReady: Bool
  /// At least one connection, or polling-only mode.
  var isAPNsReady: Bool
  var isStopping: Bool
  /// They do not make a worker unready: what can be sent is sent.
  var pausedRoutes: [RouteReport] = []

  var isReady: Bool { isRedisReady && isAPNsReady && !isStopping }

  /// `{"ready":false,"redis":"unreachable","apns":"ok","stopping":false,"pausedRoutes":[…]}`
  var json: String {
    let redis = isRedisReady ? "ok" : "unreachable"
    let apns = isAPNsReady ? "ok" : "unreachable"
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("ready")
    writer.bool(isReady)
    writer.key("redis")
    writer.string(redis)
    writer.key("apns")
    writer.string(apns)
    writer.key("stopping")
    writer.bool(isStopping)
    RouteReport.write(pausedRoutes, key: "pausedRoutes", to: &writer)
    writer.endObject()
    return String(decoding: writer.bytes, as: UTF8.self) + "\n"
  }

  var response: HTTPResponse { .json(Array(json.utf8), status: isReady ? 200 : 503) }
}
