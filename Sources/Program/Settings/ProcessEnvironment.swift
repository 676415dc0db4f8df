#if canImport(Glibc)
  import Glibc
#endif

/// The environment of a process, and the settings of parts that its program knows.
package struct ProcessEnvironment: Sendable {
  package let values: [String: String]
  /// Without `MARTLET_`.
  package let settingsOfParts: [Setting]

  package init(_ values: [String: String], settingsOfParts: [Setting]) {
    self.values = values
    self.settingsOfParts = settingsOfParts
  }

  /// The environment of this process.
  package static var processValues: [String: String] {
    var values: [String: String] = [:]
    var entry = environ
    while let pointer = entry.pointee {
      let parts = String(cString: pointer).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
      entry += 1
    }
    return values
  }
}
