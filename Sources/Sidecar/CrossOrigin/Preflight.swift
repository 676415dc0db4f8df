import HTTPServer
import PushModel

/// What a browser requests before it sends a request to another origin.
struct Preflight {
  static let defaultHeaders = "Content-Type, Authorization, X-Username"

  private static let maximumMethodBytes = 32
  /// A token of RFC 7230.
  private static let fieldName = Charset("!#$%&'*+-.^_`|~", length: 1...128)
  /// How many names are returned, and how many are read.
  private static let maximumNames = 50
  private static let maximumCandidates = 200

  /// In upper case; nil if the request does not name one.
  let method: String?
  /// The value of Access-Control-Allow-Headers.
  let allowedHeaders: String

  init(_ headers: HTTPHeaders) {
    let methods = headers.values(of: "access-control-request-method").map(\.trimmed)
    method = methods.first { !$0.isEmpty }?.uppercased()
    let names = Preflight.names(headers.values(of: "access-control-request-headers"))
    allowedHeaders = names.isEmpty ? Preflight.defaultHeaders : names.joined(separator: ", ")
  }

  /// Whether the request names one of `methods`, or none.
  func requests(oneOf methods: [String]) -> Bool {
    guard let method else { return true }
    return method.utf8.count <= Preflight.maximumMethodBytes && methods.contains(method)
  }

  /// Returns the names trimmed; of names that differ in case only, the first. Ignores everything beyond the limits.
  private static func names(_ values: [String]) -> [String] {
    var seen: Set<String> = []
    var names: [String] = []
    var candidates = 0
    for value in values {
      var rest = value.utf8[...]
      while !rest.isEmpty, candidates < maximumCandidates, names.count < maximumNames {
        let end = rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.endIndex
        let name = Substring(rest[..<end]).trimmed
        rest = rest[end...].dropFirst()
        candidates += 1
        if fieldName.accepts(name), seen.insert(name.lowercased()).inserted { names.append(name) }
      }
    }
    return names
  }
}
