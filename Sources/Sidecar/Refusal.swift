import HTTPServer
import JSON
import Redis

/// An answer instead of what was asked for: `{"error","message"?}`.
struct Refusal: Error {
  let status: Int
  let error: String
  var message: String?
  var headers: [(name: String, value: String)] = []
  /// What Redis said: for the log, never for who asked.
  var cause: RedisError?

  init(_ status: Int, _ error: String, _ message: String? = nil) {
    self.status = status
    self.error = error
    self.message = message
  }

  /// 500: the request is good.
  init(_ cause: RedisError) {
    let message =
      switch cause {
      case .outcomeUnknown: "Redis did not answer in time: whether it was done is not known"
      case .replyTooLarge: "What Redis holds for this request is too large to be read"
      case .notSent, .reply, .configuration:
        "Redis does not answer, or takes nothing more: nothing was done; try again later"
      }
    self.init(500, Refusal.serverError, message)
    self.cause = cause
  }

  static let serverError = "Internal server error"

  static let notConfigured = Refusal(500, serverError, "Redis is not configured: set REDIS_URL")

  static func methodNotAllowed(_ allowed: String) -> Refusal {
    var refusal = Refusal(405, "Method not allowed", "Allowed here: \(allowed)")
    refusal.headers = [("Allow", allowed)]
    return refusal
  }

  /// The server took the request no further: its body is too large (413), its header fields are too many or too large (431), or it is
  /// malformed (400).
  static func unread(_ status: Int) -> Refusal {
    switch status {
    case 413: Refusal(413, "Request body is too large", "at most 65536 bytes")
    case 431: Refusal(431, "Request header fields are too large", "at most 100 fields, 16384 bytes")
    default:
      Refusal(status, "Bad request", "malformed HTTP, a broken percent escape in the query, or over 100 query items")
    }
  }

  static let deviceNotFound = Refusal(404, "Device not found")

  static func tooManyRequests(_ message: String, after seconds: Int) -> Refusal {
    var refusal = Refusal(429, "Too many requests", message)
    refusal.headers = [("Retry-After", String(seconds))]
    return refusal
  }

  var response: HTTPResponse {
    let members = message.map { [JSONMember(key: "message", value: .string($0))] } ?? []
    var response = HTTPResponse.error(error, status: status, members)
    response.headers += headers
    return response
  }
}
