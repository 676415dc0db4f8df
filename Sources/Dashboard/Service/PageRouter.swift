import EventLoop
import HTTPServer

/// Finds the page of a path.
@EventLoop
struct PageRouter {
  struct Match {
    let page: any DashboardPage
    /// Decoded; empty if the route has none.
    let parameter: String
  }

  /// Longer parts of a path are never parameters. Bytes, with percent escapes.
  private static let maximumPart = 4096

  private var exact: [String: any DashboardPage] = [:]
  /// By the path up to the slash before the parameter.
  private var prefixes: [String: any DashboardPage] = [:]

  init(_ pages: [any DashboardPage]) {
    for page in pages {
      if let brace = page.path.firstIndex(of: "{") {
        prefixes[String(page.path[..<brace])] = page
      } else {
        exact[page.path] = page
      }
    }
  }

  /// Returns nil if there is no such page, or if the parameter cannot be decoded.
  func match(_ path: String) -> Match? {
    guard path.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
    if let page = exact[path] { return Match(page: page, parameter: "") }
    guard let slash = path.lastIndex(of: "/"), let page = prefixes[String(path[...slash])] else { return nil }
    let part = path[path.index(after: slash)...]
    guard !part.isEmpty, part.utf8.count <= PageRouter.maximumPart, let parameter = FormEncoding.decoded(part) else {
      return nil
    }
    return Match(page: page, parameter: PathPart.id(parameter))
  }
}
