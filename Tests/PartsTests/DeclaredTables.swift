import Foundation

/// The source of the program, from which rows of pages are read.
private let sources: [(module: String, text: String)] = {
  let root = URL(filePath: #filePath).appending(path: "../../../Sources").standardizedFileURL
  let paths = FileManager.default.enumerator(atPath: root.path())?.compactMap { $0 as? String } ?? []
  return paths.filter { $0.hasSuffix(".swift") && !$0.contains("/Tests/") }.sorted().map { path in
    let text = (try? String(contentsOf: root.appending(path: path), encoding: .utf8)) ?? ""
    return (String(path.prefix { $0 != "/" }), text)
  }
}()

/// A metric, from the call that registers it.
struct DeclaredMetric {
  /// The modules that register metrics, and which process has these. The table is in this order.
  private static let processes: KeyValuePairs = [
    "Worker": "worker", "Queue": "worker", "Parts": "worker", "Events": "both", "Redis": "both", "APNs": "both",
    "Sidecar": "sidecar", "Martlet": "sidecar", "Dashboard": "dashboard", "Telemetry": "both",
  ]

  /// The rows of docs/watching.md.
  static func rows() -> [String] {
    processes.flatMap { module, process in
      sources.filter { $0.module == module }.flatMap { _, text in
        text.matches(
          of:
            #/
            (counter|gauge|histogram)s? \( \s* "((?:martlet|process)_\w+)"
            (?: ,\s* labels?: \s* (\[[^\]]*\]|"\w+") )?
            ,\s* help: \s* ("""(?s:.*?)"""|"[^"\n]*")
            (?: ,\s* worry: \s* ("""(?s:.*?)"""|"[^"\n]*") )?
            /#
        ).map { call in
          let labels = call.3.map { "{" + $0.filter { !"[]\" ".contains($0) } + "}" } ?? ""
          let worry = call.5.map { value(of: $0) } ?? "never"
          return "| `\(call.2)\(labels)` | \(process) | \(call.1) | \(value(of: call.4)) | \(worry) |"
        }
      }
    }
  }
}

/// A log line, from the comment `// Operator: …`, which says what an operator does, and the first literal and call behind it.
struct DeclaredLogLine {
  /// The rows of docs/watching.md, errors first.
  static func rows() -> [String] {
    let lines = sources.flatMap { _, text in
      text.matches(of: #/\/\/ Operator: (.+(?:\n *\/\/ .+)*)\n[^"]*"([^"]+)"/#).compactMap { comment in
        let call = text[comment.1.endIndex...].firstMatch(
          of: /log\.(error|warn|info)\(|LogEntry\([^)]*?level: \.(\w+)/)
        return call.map { (level: $0.1 ?? $0.2 ?? "", message: comment.2, advice: unwrapped(comment.1)) }
      }
    }
    return ["error", "warn", "info"].flatMap { level in
      lines.filter { $0.level == level }.map { "| \(level) | `\($0.message)` | \($0.advice) |" }
    }
  }

  /// The messages of warnings and errors without the comment.
  static func lacking() -> [Substring] {
    sources.filter { $0.module != "Simulator" }.flatMap { _, text in
      var start = text.startIndex
      return text.matches(of: /log\.(?:error|warn|info)\(\s*("[^"]*"|\w+)/).compactMap { call in
        defer { start = call.range.upperBound }
        let isTold = call.0.contains("info") || text[start..<call.range.lowerBound].contains("// Operator: ")
        return isTold ? nil : call.1
      }
    }
  }
}

/// A key of Redis, from the comment of its declaration, which is its row: key, type, time to live for Martlet's own keys, content.
struct DeclaredKey {
  private static let modules = [
    "Queue", "Registry", "Parts", "Events", "Credentials", "Dashboard", "Backup",
  ]

  /// The rows of docs/redis-keys.md.
  static func rows(areShared: Bool) -> [String] {
    modules.flatMap { module in
      sources.filter { $0.module == module }.flatMap { _, text in
        text.matches(of: #/\/\/\/ (\| .+?(?:\n *\/\/\/ .+)*? \|)\n/#).map { unwrapped($0.1) }
      }
    }.filter { $0.hasPrefix("| `martlet:") != areShared }
  }
}

/// The text of a comment of one or more lines.
private func unwrapped(_ comment: Substring) -> String {
  String(comment.replacing(#/\n *\/\/+ /#, with: " "))
}

/// The text of a literal without escapes but for the ends of lines.
private func value(of literal: Substring) -> String {
  literal.replacing(#/\\\n\s*/#, with: "").trimmingCharacters(in: CharacterSet(charactersIn: "\" \n"))
}
