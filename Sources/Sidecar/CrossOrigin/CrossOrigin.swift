package import HTTPServer

/// The first checks of a request: whether a page of its origin may call, and whether the method is right.
struct CrossOrigin {
  private typealias Fields = [(name: String, value: String)]

  private enum Decision {
    case refused(Refusal)
    /// A preflight, answered with these header fields alone.
    case preflight(Fields)
    /// The answer gets these header fields.
    case admitted(Fields)
  }

  private static let preflightVary = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
  /// How long a browser may cache the answer to a preflight. Seconds.
  private static let maximumAge = "86400"

  let policy: OriginPolicy
  /// Those besides OPTIONS.
  let methods: [String]
  /// All methods, as header fields name them.
  private let allowed: String

  init(policy: OriginPolicy, methods: [String]) {
    self.policy = policy
    self.methods = methods
    allowed = (methods + ["OPTIONS"]).joined(separator: ", ")
  }

  /// Returns the CORS fields of the answer. Throws if a check fails, and for a preflight, which
  /// ``response(to:of:_:)`` answers.
  func admit(_ request: HTTPRequest) throws(Refusal) -> [(name: String, value: String)] {
    switch decision(for: request) {
    case .refused(let refusal): throw refusal
    case .preflight: throw Refusal(.methodNotAllowed)
    case .admitted(let fields): return fields
    }
  }

  /// Whether the checks pass, and the request is no preflight.
  func admits(_ request: HTTPRequest) -> Bool {
    methods.contains(request.method) && allows(RequestOrigin(request.headers))
  }

  /// Renders the refusal, with the CORS fields if the checks pass. If they do not, renders the refusal of the first failed check
  /// instead.
  func response(
    to refusal: Refusal, of request: HTTPRequest, _ render: (Refusal) -> HTTPResponse
  ) -> HTTPResponse {
    switch decision(for: request) {
    case .refused(let first): render(first)
    case .preflight(let fields): HTTPResponse(status: 204, headers: fields)
    case .admitted(let fields): render(refusal).with(fields)
    }
  }

  private func decision(for request: HTTPRequest) -> Decision {
    let isPreflight = request.method == "OPTIONS"
    var fields: Fields = [("Vary", isPreflight ? CrossOrigin.preflightVary : "Origin")]
    let origin = RequestOrigin(request.headers)
    // Without further CORS fields the browser does not show the answer to the page.
    guard allows(origin) else { return .refused(Refusal(.forbidden, "Unauthorized").with(fields)) }
    if case .named(let origin) = origin { fields.append(("Access-Control-Allow-Origin", origin)) }
    let preflight = isPreflight ? Preflight(request.headers) : nil
    fields += [
      ("Access-Control-Allow-Methods", allowed),
      ("Access-Control-Allow-Headers", preflight?.allowedHeaders ?? Preflight.defaultHeaders),
      ("Access-Control-Allow-Credentials", "true"), ("Access-Control-Max-Age", CrossOrigin.maximumAge),
    ]
    if let preflight, preflight.requests(oneOf: methods) { return .preflight(fields) }
    guard methods.contains(request.method) else {
      return .refused(Refusal(.methodNotAllowed).with(fields + [("Allow", allowed)]))
    }
    return .admitted(fields)
  }

  private func allows(_ origin: RequestOrigin) -> Bool {
    if case .named(let origin) = origin { policy.allows(origin) } else { origin == .none }
  }
}

/// The origin of the page that sent a request, from the header fields.
package enum RequestOrigin: Equatable {
  /// Neither Origin nor Referer: not a browser's cross-origin request.
  case none
  case named(String)
  /// The header fields are malformed or repeated.
  case unreadable

  package init(_ headers: HTTPHeaders) {
    let origins = RequestOrigin.values(of: "origin", in: headers)
    guard origins.isEmpty else {
      self = origins.count == 1 ? .named(origins[0]) : .unreadable
      return
    }
    let pages = RequestOrigin.values(of: "referer", in: headers)
    guard let page = pages.first else {
      self = .none
      return
    }
    let origin = pages.count == 1 ? WebOrigin(ofPage: page) : nil
    self = origin.map { .named($0.text) } ?? .unreadable
  }

  private static func values(of name: String, in headers: HTTPHeaders) -> [String] {
    headers.values(of: name).map(\.trimmed).filter { !$0.isEmpty }
  }
}
