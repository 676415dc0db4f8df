/// Suggests the name that was probably meant.
package enum Spelling {
  /// Longer names are not compared, and are cut when they are quoted.
  private static let maximumLength = 40
  private static let maximumDistance = 2

  /// `unknown field "titel"; did you mean "title"?`
  package static func unknownField(_ name: String, parent: String, names: [String]) -> String {
    "unknown field \(quoted(name, parent: parent))\(hint(for: name, parent: parent, among: names))"
  }

  /// `; did you mean "title"?`, or nothing if no name is near.
  package static func hint(for name: String, parent: String = "", among names: [String]) -> String {
    guard name.utf8.count <= maximumLength, let nearest = nearest(to: name, among: names),
      nearest.distance <= maximumDistance, nearest.distance < nearest.name.count
    else { return "" }
    return "; did you mean \"\(parent)\(nearest.name)\"?"
  }

  /// `name` in quotation marks. A long one is cut by scalars, because a character may be as long as the job.
  package static func quoted(_ name: String, parent: String = "") -> String {
    guard name.utf8.count > maximumLength else { return "\"\(parent)\(name)\"" }
    return "\"\(parent)\(String(name.unicodeScalars.prefix(maximumLength)))…\""
  }

  /// Returns the name with the least distance from `name`, the first of those. Nil without names.
  package static func nearest(to name: String, among names: [String]) -> (name: String, distance: Int)? {
    let written = letters(name)
    return names.map { (name: $0, distance: distance(written, letters($0))) }.min { $0.distance < $1.distance }
  }

  /// Ignores case and separators: `thread-id` equals `threadId`.
  private static func letters(_ name: String) -> [UInt8] {
    Array(name.lowercased().utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") })
  }

  /// The Levenshtein distance.
  private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var row = Array(0...right.count)
    for (i, a) in left.enumerated() {
      var diagonal = row[0]
      row[0] = i + 1
      for (j, b) in right.enumerated() {
        let substituted = diagonal + (a == b ? 0 : 1)
        diagonal = row[j + 1]
        row[j + 1] = min(substituted, row[j] + 1, diagonal + 1)
      }
    }
    return row[right.count]
  }
}
