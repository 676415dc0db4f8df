import HTTPServer
import JSON

/// A link to a page of the dashboard, relative to the page that contains it. So it works below any prefix of a proxy.
package struct Link: Sendable, Equatable {
  /// The relative reference. It begins with `./` or `../`, so a colon in it is never taken for a scheme.
  package let text: String
}

/// Makes the links of one page.
package struct Links: Sendable, Equatable {
  private static let maximumDepth = 8

  /// From the page back to the root of the dashboard: `./` or `../`.
  package let root: String

  /// - Parameter path: the path of the request, with its percent escapes.
  package init(from path: String) {
    // No page is deeper. A path of slashes must not make each link as long as itself.
    let depth = min(path.utf8.dropFirst().count { $0 == UInt8(ascii: "/") }, Links.maximumDepth)
    root = depth == 0 ? "./" : String(repeating: "../", count: depth)
  }

  /// Returns the link to `path`, the path of a page without its first slash, and `id`, which is one part of the path.
  package func link(_ path: StaticString, _ id: String? = nil, query: [(String, String)] = []) -> Link {
    var text = root + "\(path)"
    if let id { text += "/" + PathPart.text(id) }
    return Link(text: text + FormEncoding.query(query))
  }

  package func link(_ section: Section) -> Link { Link(text: root + section.path) }
}

/// An id as a part of a path. Browsers resolve `.` and `..` in a path, also with percent escapes, so these get a `~` in front.
package enum PathPart {
  private static let mark: Character = "~"

  /// Returns the part of a path that stands for `id`.
  package static func text(_ id: String) -> String {
    isMarked(id) ? "\(mark)" + String(percentEncoding: id) : String(percentEncoding: id)
  }

  /// Returns the id that a decoded part of a path stands for.
  package static func id(_ part: String) -> String {
    part.first == mark && isMarked(String(part.dropFirst())) ? String(part.dropFirst()) : part
  }

  /// Whether an id is `.` or `..`, or is what stands for one.
  private static func isMarked(_ id: String) -> Bool {
    [".", ".."].contains(id.drop { $0 == mark })
  }
}
