import HTTPServer
import JSON

/// A link to a page of the dashboard, relative to the page that contains it. So it works below any prefix of a proxy.
struct Link: Sendable, Equatable {
  /// The relative reference. It begins with `./` or `../`, so a colon in it is never taken for a scheme.
  let text: String
}

/// Makes the links of one page.
struct Links: Sendable, Equatable {
  private static let maximumDepth = 8

  /// From the page back to the root of the dashboard: `./` or `../`.
  let root: String

  /// - Parameter path: the path of the request, with its percent escapes.
  init(from path: String) {
    // No page is deeper. A path of slashes must not make each link as long as itself.
    let depth = min(path.utf8.dropFirst().count { $0 == UInt8(ascii: "/") }, Links.maximumDepth)
    root = depth == 0 ? "./" : String(repeating: "../", count: depth)
  }

  /// Returns the link to `path`, the path of a page without its first slash, and `id`, which is one part of the path.
  func link(_ path: StaticString, _ id: String? = nil, query: [(String, String)] = []) -> Link {
    var text = root + "\(path)"
    if let id { text += "/" + PathPart.text(id) }
    return Link(text: text + FormEncoding.query(query))
  }

  func link(_ section: Section) -> Link { Link(text: root + section.path) }
}

/// An id as a part of a path. Browsers resolve `.` and `..` in a path, also with percent escapes, so these get a `~` in front.
enum PathPart {
  private static let mark: Character = "~"

  /// Returns the part of a path that stands for `id`.
  static func text(_ id: String) -> String {
    isMarked(id) ? "\(mark)" + String(percentEncoding: id) : String(percentEncoding: id)
  }

  /// Returns the id that a decoded part of a path stands for.
  static func id(_ part: String) -> String {
    part.first == mark && isMarked(String(part.dropFirst())) ? String(part.dropFirst()) : part
  }

  /// Whether an id is `.` or `..`, or is what stands for one.
  private static func isMarked(_ id: String) -> Bool {
    [".", ".."].contains(id.drop { $0 == mark })
  }
}
