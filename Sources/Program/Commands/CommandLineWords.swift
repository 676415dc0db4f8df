import JSON

/// The arguments of a command, parsed into positional words, options and flags.
package struct CommandLineWords {
  package private(set) var positional: [String] = []
  private var values: [String: [String]] = [:]
  private var flags: Set<String> = []

  /// Parses `words`. `options` take a value (`--limit 10` or `--limit=10`) and may be repeated, `flags` take none.
  package init(_ words: [String], options: Set<String> = [], flags known: Set<String> = []) throws(CommandError) {
    var rest = words[...]
    while let word = rest.popFirst() {
      guard word.hasPrefix("--"), word != "--" else {
        guard !word.hasPrefix("-") || word == "-" || word == "--" else {
          throw .usage("unknown option \(word)")
        }
        if word == "--" {
          positional.append(contentsOf: rest)
          return
        }
        positional.append(word)
        continue
      }
      let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
        String.init)
      let name = parts[0]
      if known.contains(name) || name == "help" {
        guard parts.count == 1 else { throw .usage("--\(name) takes no value") }
        flags.insert(name)
      } else if options.contains(name) {
        guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
          throw .usage("--\(name) needs a value")
        }
        values[name, default: []].append(value)
      } else {
        throw .usage("unknown option --\(name)")
      }
    }
  }

  /// Throws if there are positional words.
  package func refuseArguments() throws(CommandError) {
    guard positional.isEmpty else { throw .usage("this command takes options only") }
  }

  /// Throws if one of the options and flags is given. `reason` says what it is for: `is for keys`.
  package func refuse(_ names: [String], _ reason: String) throws(CommandError) {
    for name in names where has(name) || value(name) != nil { throw .usage("--\(name) \(reason) only") }
  }

  package func has(_ flag: String) -> Bool { flags.contains(flag) }

  /// Returns the last value of an option.
  package func value(_ option: String) -> String? { values[option]?.last }

  /// Returns all values of an option in their order.
  package func values(_ option: String) -> [String] { values[option] ?? [] }

  /// Returns the value of --queue.
  package func queue() throws(CommandError) -> String? {
    guard let name = value("queue") else { return nil }
    guard SharedSettings.isQueueName(name) else {
      throw .usage("--queue takes a list name of \(SharedSettings.queueNameRule)")
    }
    return name
  }

  /// The value of --by, or the login name.
  package var operatorName: String {
    let values = ProcessEnvironment.processValues
    return value("by") ?? values["USER"] ?? values["LOGNAME"] ?? ""
  }

  /// Returns the value of an option as a number.
  package func integer(_ option: String, in range: ClosedRange<Int>) throws(CommandError) -> Int? {
    guard let text = value(option) else { return nil }
    guard let number = text.integer(in: range) else {
      throw .usage("--\(option) takes a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
