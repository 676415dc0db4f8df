import EventLoop
import HTTPServer

/// Finds the surface that answers a path.
@EventLoop
struct Router {
  struct Match {
    let surface: any HTTPAPI
    let route: String
    let parameter: String?
  }

  /// No route is longer, nor has anything beyond ASCII. Bytes.
  private static let maximumPathBytes = 2048

  private var exact: [Substring: Match] = [:]
  /// Routes with a parameter, by what stands before it.
  private var prefixes: [Substring: (surface: any HTTPAPI, route: String)] = [:]

  private var roots: [(path: String, surface: any HTTPAPI)] = []

  init(_ surfaces: [any HTTPAPI]) {
    for surface in surfaces {
      roots += surface.roots.map { ($0, surface) }
      for route in surface.routes {
        if let brace = route.firstIndex(of: "{") {
          prefixes[route[..<brace]] = (surface, route)
        } else {
          exact[route[...]] = Match(surface: surface, route: route, parameter: nil)
        }
      }
    }
  }

  func match(_ path: String) -> Match? {
    // Hashing other strings takes far longer.
    guard path.utf8.count <= Router.maximumPathBytes, path.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
    if let match = exact[path[...]] { return match }
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
    let parameter = path[path.index(after: slash)...]
    guard !parameter.isEmpty, let found = prefixes[path[...slash]] else { return nil }
    return Match(surface: found.surface, route: found.route, parameter: String(parameter))
  }

  /// The surface of a path that may be no route.
  func owner(of path: String) -> (any HTTPAPI)? {
    match(path)?.surface ?? roots.first { path.utf8.starts(with: $0.path.utf8) }?.surface
  }
}
