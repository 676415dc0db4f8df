import HTTPServer
import JSON

extension HTTPResponse {
  static func json(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
    .json(value.bytes, status: status)
  }

  /// `{"error":…}` and what else there is to say.
  static func error(_ text: String, status: Int, _ members: [JSONMember] = []) -> HTTPResponse {
    .json(.object([JSONMember(key: "error", value: .string(text))] + members), status: status)
  }

  /// 429, as the push API says it.
  static func tooManyRequests(after seconds: Int) -> HTTPResponse {
    var response = HTTPResponse.error("Too many requests", status: 429)
    response.headers.append(("Retry-After", String(seconds)))
    return response
  }

  /// To a request that never reached its surface.
  static func refusal(_ status: Int) -> HTTPResponse {
    switch status {
    case 413: .error("Request body is too large (max 65536 bytes)", status: status)
    case 431: .error("Request header fields are too large (max 100 fields, 16384 bytes)", status: status)
    default: .error("Bad request", status: status)
    }
  }
}
