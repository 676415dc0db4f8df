import HTTPServer

/// The first checks of a request: may a page of its origin call, and is the method the right one.
struct CrossOrigin {
  typealias Fields = [(name: String, value: String)]

  enum Decision {
    /// Refused, or a preflight: answered already.
    case answered(HTTPResponse)
    /// To be answered; these fields go with it.
    case admitted(Fields)
  }

  private static let preflightVary = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
  /// Seconds that a browser may remember the answer to a preflight.
  private static let maximumAge = "86400"

  let policy: OriginPolicy
  /// The one beside OPTIONS.
  let method: String

  func judge(_ request: HTTPRequest) -> Decision {
    let isPreflight = request.method == "OPTIONS"
    var fields: Fields = [("Vary", isPreflight ? CrossOrigin.preflightVary : "Origin")]
    switch RequestOrigin(request.headers) {
    case .none: break
    case .named(let origin) where policy.allows(origin): fields.append(("Access-Control-Allow-Origin", origin))
    case .named, .unreadable:
      // A page that may not call is told nothing else: the browser keeps the answer from it.
      return .answered(.error("Unauthorized", status: 403).with(fields))
    }
    let preflight = isPreflight ? Preflight(request.headers) : nil
    fields += [
      ("Access-Control-Allow-Methods", "\(method), OPTIONS"),
      ("Access-Control-Allow-Headers", preflight?.allowedHeaders ?? Preflight.defaultHeaders),
      ("Access-Control-Allow-Credentials", "true"), ("Access-Control-Max-Age", CrossOrigin.maximumAge),
    ]
    if let preflight, preflight.asksFor(method) { return .answered(HTTPResponse(status: 204).with(fields)) }
    guard request.method == method else {
      let allow = [(name: "Allow", value: "\(method), OPTIONS")]
      return .answered(.error("Method not allowed", status: 405).with(fields + allow))
    }
    return .admitted(fields)
  }
}

extension HTTPResponse {
  func with(_ fields: CrossOrigin.Fields) -> HTTPResponse {
    var response = self
    response.headers += fields
    return response
  }
}
