import Queue
package import HTTPServer
import JSON
import Jobs

/// Whether a worker can do its work, and what is in the way.
package struct Readiness: Equatable {
  package static let gone = Readiness(isRedisReady: false, apns: .unreachable, isStopping: true)

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
  /// They do not make a worker unready: what can be sent is sent.
  var pausedRoutes: [RouteReport] = []

  var isReady: Bool { isRedisReady && apns != .unreachable && !isStopping }

  /// `{"ready":false,"redis":"unreachable","apns":"ok","stopping":false,"pausedRoutes":[…]}`
  var json: String {
    let redis = isRedisReady ? "ok" : "unreachable"
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("ready")
    writer.bool(isReady)
    writer.key("redis")
    writer.string(redis)
    writer.key("apns")
    writer.string(apns.rawValue)
    writer.key("stopping")
    writer.bool(isStopping)
    RouteReport.write(pausedRoutes, key: "pausedRoutes", to: &writer)
    writer.endObject()
    return String(decoding: writer.bytes, as: UTF8.self) + "\n"
  }

  package var response: HTTPResponse { .json(Array(json.utf8), status: isReady ? 200 : 503) }
}
