/// A setting: its name, and all that pages and examples say of it. ``Setting/core`` lists those that are of no part.
package struct Setting: Sendable {
  /// A section of docs/settings.md.
  package enum Group: String, Sendable, CaseIterable {
    case redis = "Redis"
    case apns = "APNs"
    case worker = "Worker"
    case traces = "Traces"
    case sidecar = "Sidecar"
    case dashboard = "Dashboard"
    case all = "Every process"

    /// What martlet.env.example says behind the title.
    var remark: String {
      switch self {
      case .apns: ": the first four belong together; the key is credentials/apns-key.p8"
      case .redis, .worker, .traces, .sidecar, .dashboard, .all: ""
      }
    }
  }

  package let name: String
  package let group: Group
  /// How the table of docs/settings.md names it, and what it means, in Markdown. Nil if the row of the setting before it is its
  /// own, too.
  let row: (title: String, meaning: String)?
  /// Its line in martlet.env.example: a value, and the comment above. One with a default has that, else an example.
  let example: (value: String, comment: String)
  /// Whether the example is in force, so that a machine can start with it.
  let isSet: Bool

  /// - Parameter title: For a row that says more than the name.
  package init(
    _ name: String, in group: Group, title: String? = nil, _ meaning: String? = nil, example: String,
    isSet: Bool = false,
    _ comment: String
  ) {
    self.name = name
    self.group = group
    row = meaning.map { (title ?? "`\(name)`", $0) }
    self.example = (example, comment)
    self.isSet = isSet
  }
}

extension Setting.Group {
  private func settings(_ all: [Setting]) -> [Setting] { all.filter { $0.group == self } }

  /// The table of docs/settings.md.
  package func table(of all: [Setting]) -> String {
    let rows = settings(all).compactMap(\.row).map { "| \($0.title) | \($0.meaning) |" }
    return (["| name | meaning |", "|---|---|"] + rows).joined(separator: "\n")
  }

  /// The section of martlet.env.example.
  package func example(of all: [Setting]) -> String {
    let lines = settings(all).map { setting in
      "# \(setting.example.comment)\n\(setting.isSet ? "" : "#")\(setting.name)=\(setting.example.value)\n"
    }
    return "# --- \(rawValue)\(remark) ---\n\n" + lines.joined()
  }

  /// The item of ENVIRONMENT of a manual page, in mdoc.
  package func item(of all: [Setting]) -> String {
    let names = settings(all).map { ".Ev \($0.name)" }
    return ".It \(rawValue)\n" + names.dropLast().map { "\($0) ,\n" }.joined() + names[names.count - 1] + " ."
  }
}
