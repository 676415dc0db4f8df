package import JSON

/// The names of environment variables that begin with `MARTLET_`.
package enum SettingNames {
  package static let prefix = "MARTLET_"

  /// Variables of the build and of deploy/compose.yaml, which programs may inherit.
  private static let inherited: Set<String> = ["BUILD", "IMAGE"]
  private static let testPrefix = "TEST_"

  /// Returns a fault for each name that no program knows. A blank value counts as absent.
  package static func faults(in environment: ProcessEnvironment) -> [InvalidValue] {
    let known = Set(
      (Setting.core + environment.settingsOfParts).map(\.name).filter { $0.hasPrefix(prefix) }.map {
        String($0.dropFirst(prefix.count))
      })
    let unknown = environment.values.filter { isUnknown($0.key, known) && EnvironmentReader.trimmed($0.value) != nil }
    return unknown.keys.sorted().map { name in
      let nearest = Spelling.nearest(to: String(name.dropFirst(prefix.count)), among: known.sorted())?.name ?? ""
      return .init(
        place: name, seen: "no setting has this name",
        expected: "the name of a setting, the nearest is \(prefix)\(nearest)")
    }
  }

  private static func isUnknown(_ name: String, _ known: Set<String>) -> Bool {
    guard name.hasPrefix(prefix) else { return false }
    let rest = String(name.dropFirst(prefix.count))
    return !known.contains(rest) && !inherited.contains(rest) && !rest.hasPrefix(testPrefix) && !isServiceLink(rest)
  }

  /// Whether Kubernetes or Docker sets the variable in every container beside a service `martlet-…`.
  private static func isServiceLink(_ name: String) -> Bool {
    let words = name.split(separator: "_", omittingEmptySubsequences: false)
    // SERVICE_HOST, SERVICE_PORT, SERVICE_PORT_<name>, PORT, PORT_<number>_TCP, PORT_<number>_TCP_ADDR …
    return words.indices.contains { index in
      let rest = words[index...].dropFirst()
      switch words[index] {
      case "SERVICE": return rest.first == "PORT" || rest.elementsEqual(["HOST"])
      case "PORT":
        guard let number = rest.first else { return true }
        return number.integer(in: 0...65_535) != nil && ["TCP", "UDP", "SCTP"].contains(rest.dropFirst().first)
      default: return false
      }
    }
  }
}
