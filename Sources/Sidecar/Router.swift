import EventLoop
import HTTPServer

/// Finds the API that answers a path.
@EventLoop
struct Router {
  struct Match {
    let api: any HTTPAPI
    let route: String
    let parameter: String?

    func request(_ http: HTTPRequest) -> SidecarRequest {
      SidecarRequest(http: http, route: route, parameter: parameter)
    }
  }

  /// No route is longer, and all are ASCII. Bytes.
  private static let maximumPathBytes = 2048

  private var exact: [Substring: Match] = [:]
  /// Routes with a parameter, by the text before it.
  private var prefixes: [Substring: (api: any HTTPAPI, route: String)] = [:]
  private var roots: [(path: String, api: any HTTPAPI)] = []

  init(_ apis: [any HTTPAPI]) {
    for api in apis {
      roots += api.roots.map { ($0, api) }
      for route in api.routes {
        if let brace = route.firstIndex(of: "{") {
          prefixes[route[..<brace]] = (api, route)
        } else {
          exact[route[...]] = Match(api: api, route: route, parameter: nil)
        }
      }
    }
  }

  /// Returns nil if the path is not a route.
  func match(_ path: String) -> Match? {
    // Hashing text that is not ASCII takes far longer.
    guard path.utf8.count <= Router.maximumPathBytes, path.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
    if let match = exact[path[...]] { return match }
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
    let parameter = path[path.index(after: slash)...]
    guard !parameter.isEmpty, let found = prefixes[path[...slash]] else { return nil }
    return Match(api: found.api, route: found.route, parameter: String(parameter))
  }

  /// Returns the API that a path belongs to, even if the path is not a route.
  func owner(of path: String) -> (any HTTPAPI)? {
    match(path)?.api ?? roots.first { path.utf8.starts(with: $0.path.utf8) }?.api
  }
}
