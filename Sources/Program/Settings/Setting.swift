package import JSON

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

  /// What values it has.
  package enum Kind: Sendable {
    /// What the row of the table says.
    case text
    case whole(ClosedRange<Int>)
    case duration
    case limit
    /// One of the raw values of the type that is read.
    case choice
    /// `true` or `false`.
    case flag
    /// Texts with commas between them.
    case list
    /// Where a server listens.
    case address
    /// A share of Redis' memory, or bytes.
    case memory
    /// Faults show neither its user and password nor anything behind the host.
    case url
    /// Of a file. Faults show it only if it looks like a path, as the value may be the text of the file by mistake.
    case path
    /// PEM text or the path of its file.
    case pem
    /// The same, of a key. Faults never show it.
    case privateKey
    /// Faults never show it.
    case secret
  }

  package let name: String
  /// Other names, by precedence.
  package let aliases: [String]
  package let group: Group
  package let kind: Kind
  /// The value of an absent setting, as text. Nil if there is none, or if the reader decides.
  package let standard: String?
  /// How the table of docs/settings.md names it, and what it means, in Markdown. Nil if the row of the setting before it is its
  /// own, too.
  let row: (title: String, meaning: String)?
  /// Its line in martlet.env.example: a value, and the comment above. One with a default has that, else an example.
  let example: (value: String, comment: String)
  /// Whether the example is in force, so that a machine can start with it.
  let isSet: Bool

  /// - Parameters:
  ///   - title: For a row that says more than the name.
  ///   - meaning: `{}` stands for range and default.
  ///   - example: Nil for the default.
  package init(
    _ name: String, in group: Group, as kind: Kind = .text, aliases: [String] = [], default standard: String? = nil,
    title: String? = nil,
    _ meaning: String? = nil, example: String? = nil, isSet: Bool = false, _ comment: String
  ) {
    self.name = name
    self.aliases = aliases
    self.group = group
    self.kind = kind
    self.standard = standard
    row = meaning.map { (title ?? "`\(name)`", $0.replacing("{}", with: kind.range(standard ?? ""))) }
    self.example = (example ?? standard ?? "", comment)
    self.isSet = isSet
  }
}

extension Setting.Kind {
  /// How much of a value a fault shows.
  package var quote: ValueQuote.Kind {
    switch self {
    case .url: .url
    case .path, .pem: .path
    case .privateKey, .secret: .secret
    case .text, .whole, .duration, .limit, .choice, .flag, .list, .address, .memory: .plain
    }
  }

  /// `1 to 64, default 1`, `default 24h`
  fileprivate func range(_ standard: String) -> String {
    guard case .whole(let range) = self else { return "default `\(standard)`" }
    return
      "\(grouped(range.lowerBound)) to \(grouped(range.upperBound)), default \(standard.integer(in: 0...Int.max).map(grouped) ?? standard)"
  }

  /// A number with commas between its thousands.
  private func grouped(_ number: Int) -> String {
    number < 1000 ? "\(number)" : "\(grouped(number / 1000))," + "\(number % 1000 + 1000)".dropFirst()
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
