package import HTTPServer
package import JSON
package import Redis

/// Why a request was not carried out. Each API renders it in the form of its document.
package struct Refusal: HTTPRefusal {
  package enum Reason: Equatable {
    /// Malformed HTTP, or a query that cannot be read.
    case malformed
    /// The body is not a JSON object.
    case notJSON
    /// The value of a field, of the body or of the query, is not allowed.
    case invalid(field: String)
    case unauthorized
    case forbidden
    case notFound
    case methodNotAllowed
    case bodyTooLarge
    case tooManyRequests
    /// The request line and the header fields are too large or too many.
    case headTooLarge
    case serverError
    /// `service` is Redis or APNs.
    case notConfigured(service: String)
    case unavailable
  }

  package let reason: Reason
  /// The fault, in a few words.
  package let error: String
  /// The exact fault, where it is, and what was expected.
  package var message: String?
  /// Further members of the push API's answer.
  package var members: JSONObject = [:]
  package var headers: [(name: String, value: String)] = []
  /// The fault of Redis that caused the refusal. For the log only.
  package var cause: RedisError?

  /// Without `error` the text is the usual one of the reason.
  package init(_ reason: Reason, _ error: String? = nil, _ message: String? = nil) {
    self.reason = reason
    self.error = error ?? reason.form.text
    self.message = message
  }

  package var status: Int { reason.form.status }

  package var fault: HTTPFault? { cause.map { HTTPFault("\($0)", isKnown: $0.isNotSent) } }
}

extension Refusal {
  package static func invalid(_ field: String, _ error: String, _ message: String? = nil) -> Refusal {
    Refusal(.invalid(field: field), error, message)
  }

  /// - Parameter allowed: the value of the header field `Allow`.
  package static func methodNotAllowed(_ allowed: String, _ message: String? = nil) -> Refusal {
    Refusal(.methodNotAllowed, nil, message).with([("Allow", allowed)])
  }

  /// - Parameter seconds: the value of the header field `Retry-After`.
  package static func tooManyRequests(_ message: String? = nil, after seconds: Int) -> Refusal {
    Refusal(.tooManyRequests, nil, message).with([("Retry-After", String(seconds))])
  }

  package static func unavailable(_ message: String, after seconds: Int) -> Refusal {
    Refusal(.unavailable, nil, message).with([("Retry-After", String(seconds))])
  }

  /// - Parameter missing: the settings that are missing.
  package static func notConfigured(_ service: String, missing: [String], _ fix: String) -> Refusal {
    var refusal = Refusal(.notConfigured(service: service), nil, "\(service) is not configured: \(fix)")
    refusal.members = ["missingEnvVars": missing]
    return refusal
  }

  /// The refusal of a request that the server did not read completely, from the status that it chose.
  package init(unread status: Int, maximumBodyBytes: Int = HTTPServerConfiguration.usualBodyBytes) {
    switch status {
    case 413: self.init(.bodyTooLarge, nil, "at most \(maximumBodyBytes) bytes")
    case 431: self.init(.headTooLarge, nil, "at most 100 fields, 16384 bytes")
    default:
      self.init(.malformed, nil, "malformed HTTP, a broken percent escape in the query, or over 100 query items")
    }
  }

  package init(_ fault: RedisError) {
    let message =
      switch fault {
      case .outcomeUnknown: "Redis did not answer in time: whether it was done is not known"
      case .replyTooLarge: "What Redis holds for this request is too large to be read"
      case .notSent, .reply, .configuration:
        "Redis does not answer, or takes nothing more: nothing was done; try again later"
      }
    self.init(.serverError, nil, message)
    cause = fault
  }

  /// Returns the refusal with additional header fields.
  package func with(_ fields: [(name: String, value: String)]) -> Refusal {
    var refusal = self
    refusal.headers += fields
    return refusal
  }
}

/// Returns the value of a call to Redis. Throws a refusal if the call fails.
nonisolated(nonsending) package func refusingFaults<Value>(
  _ call: @autoclosure () async throws(RedisError) -> Value
) async throws(Refusal) -> Value {
  do { return try await call() } catch { throw Refusal(error) }
}

// MARK: - Forms that more than one API has

extension Refusal {
  /// `{"error"}` and ``members``: the form of the push API and of paths that belong to no API.
  package var response: HTTPResponse {
    let text =
      switch reason {
      case .bodyTooLarge: "Request body is too large (max 65536 bytes)"
      case .headTooLarge: "Request header fields are too large (max 100 fields, 16384 bytes)"
      case .notJSON: "Request body must be a JSON object"
      case .notConfigured(let service): "\(service) is not configured."
      default: error
      }
    return response(error: text, members)
  }

  /// `{"error","message"?}`: the form of the device API and the broadcast API.
  package var responseWithMessage: HTTPResponse {
    response(error: error, ["message": message])
  }

  /// `{"error"}` and `members`, with the status and the header fields of the refusal.
  package func response(error: String, _ members: JSONObject = [:]) -> HTTPResponse {
    var response = HTTPResponse.json(["error": error] + members, status: status)
    response.headers += headers
    return response
  }
}

extension Refusal.Reason {
  fileprivate var form: (status: Int, text: String) {
    switch self {
    case .malformed: (400, "Bad request")
    case .notJSON: (400, "Invalid JSON in request body")
    case .invalid(let field): (400, "Invalid \(field)")
    case .unauthorized: (401, "Unauthorized")
    case .forbidden: (403, "Forbidden")
    case .notFound: (404, "Not found")
    case .methodNotAllowed: (405, "Method not allowed")
    case .bodyTooLarge: (413, "Request body is too large")
    case .tooManyRequests: (429, "Too many requests")
    case .headTooLarge: (431, "Request header fields are too large")
    case .serverError, .notConfigured: (500, "Internal server error")
    case .unavailable: (503, "Service unavailable")
    }
  }
}

extension HTTPResponse {
  /// Returns the response with additional header fields.
  package func with(_ fields: [(name: String, value: String)]) -> HTTPResponse {
    var response = self
    response.headers += fields
    return response
  }
}
