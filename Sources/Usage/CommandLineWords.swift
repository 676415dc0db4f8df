import JSON

/// The words of a command line, as its ``CommandUsage`` allows them.
public struct CommandLineWords: Sendable {
  /// Empty if the command has no actions.
  public let action: String
  /// The words behind the action that are no options.
  public let arguments: [String]
  private let usage: CommandUsage
  private var values: [String: [String]] = [:]

  /// Parses the words behind the command. An option with a value is `--limit 10` or `--limit=10`; the last one counts.
  /// Everything behind `--` is an argument.
  public init(_ words: [String], _ usage: CommandUsage) throws(UsageError) {
    self.usage = usage
    var (rest, found) = (words[...], [String]())
    while let word = rest.popFirst() {
      if word == "--" {
        found += rest
        break
      }
      guard word.hasPrefix("-"), word != "-" else {
        found.append(word)
        continue
      }
      guard word.hasPrefix("--") else { throw UsageError("unknown option \(word)") }
      let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let option = usage.options.first(where: { $0.name == parts[0] }) else {
        let hint = Spelling.hint(for: String(parts[0]), parent: "--", among: usage.options.map(\.name))
        throw UsageError("unknown option --\(parts[0])\(hint)")
      }
      if option.isFlag {
        guard parts.count == 1 else { throw UsageError("--\(option.name) takes no value") }
        values[option.name] = [""]
      } else {
        guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
          throw UsageError("--\(option.name) needs a value")
        }
        try CommandLineWords.check(value, of: option)
        values[option.name, default: []].append(value)
      }
    }
    let form: CommandForm
    if usage.hasActions {
      guard let word = found.first, let known = usage.forms.first(where: { $0.action == word }) else {
        let hint = found.first.map { Spelling.hint(for: $0, among: usage.actions) } ?? ""
        throw UsageError("expected \(CommandLineWords.alternatives(usage.actions))\(hint)")
      }
      form = known
      found.removeFirst()
    } else {
      form = usage.forms[0]
    }
    action = form.action
    arguments = found
    try check(form)
  }

  private static func check(_ value: String, of option: CommandOption) throws(UsageError) {
    switch option.value {
    case .none, .text, .file, .directory: break
    case .number(_, let range):
      guard value.integer(in: range) != nil else {
        throw UsageError("--\(option.name) takes a whole number from \(range.lowerBound) to \(range.upperBound)")
      }
    case .choice(_, let choices):
      guard choices.contains(value) else { throw UsageError("--\(option.name) takes \(alternatives(choices))") }
    case .list(_, let choices):
      let parts = value.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
      guard parts.allSatisfy(choices.contains) else {
        throw UsageError("--\(option.name) takes a list of \(alternatives(choices))")
      }
    }
  }

  /// Refuses what is allowed, but not for this action, or not together.
  private func check(_ form: CommandForm) throws(UsageError) {
    for name in usage.options.map(\.name) where has(name) && !form.options.contains(where: { $0.name == name }) {
      let actions = usage.forms.filter { $0.options.contains { $0.name == name } }.map(\.action)
      throw UsageError("--\(name) is for \(CommandLineWords.alternatives(actions, "and")) only")
    }
    for group in form.only {
      let given = group.filter(has)
      if given.count > 1 { throw UsageError("--\(given[0]) and --\(given[1]) exclude each other") }
    }
    if let missing = form.options.first(where: { $0.isRequired && !has($0.name) }) {
      throw UsageError("--\(missing.name) is missing")
    }
    let needed = form.arguments.prefix { !$0.isOptional }.count
    if arguments.count < needed {
      throw UsageError("expected \(form.arguments[arguments.count].placeholder)")
    }
    if arguments.count > form.arguments.count { throw UsageError("unexpected '\(arguments[form.arguments.count])'") }
    for (argument, word) in zip(form.arguments, arguments) where !argument.choices.isEmpty {
      guard argument.choices.contains(word) else {
        throw UsageError("expected \(CommandLineWords.alternatives(argument.choices))")
      }
    }
  }

  /// `a, b or c`
  private static func alternatives(_ words: [String], _ last: String = "or") -> String {
    words.count < 2
      ? words.joined() : "\(words.dropLast().joined(separator: ", ")) \(last) \(words[words.count - 1])"
  }

  /// Whether an option is given.
  public func has(_ option: String) -> Bool {
    precondition(usage.options.contains { $0.name == option }, "\(usage.path) has no option --\(option)")
    return values[option] != nil
  }

  /// Returns the last value of an option.
  public func value(_ option: String) -> String? { values(option).last }

  /// Returns all values of an option in their order.
  public func values(_ option: String) -> [String] { has(option) ? values[option] ?? [] : [] }

  /// Returns the value of an option if it takes a number.
  public func integer(_ option: String) -> Int? {
    guard case .number(_, let range) = usage.options.first(where: { $0.name == option })?.value else { return nil }
    return value(option)?.integer(in: range)
  }
}
