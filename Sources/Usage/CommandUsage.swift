/// What a command line may have: declared once for each command. Parsing, `--help`, the manual page and the completions are made
/// from it.
public struct CommandUsage: Sendable {
  /// The words in front, as `martlet dead`.
  public let path: String
  /// One line, for lists of commands.
  public let summary: String
  /// The ways to call it: one for each action, or a single one without an action.
  public let forms: [CommandForm]
  /// Paragraphs, separated by empty lines. One that begins with a space is printed as it is.
  public let text: String

  public init(_ path: String, _ summary: String, forms: [CommandForm], text: String) {
    self.path = path
    self.summary = summary
    self.forms = forms
    self.text = text
    for form in forms { precondition(forms.count == 1 || !form.action.isEmpty, "\(path): a form without an action") }
  }

  /// A command without actions.
  public init(
    _ path: String, _ summary: String, _ arguments: [CommandArgument] = [], _ options: [CommandOption] = [],
    only: [[String]] = [], text: String
  ) {
    let form = CommandForm("", "", arguments, options, only: only)
    self.init(path, summary, forms: [form], text: text)
  }

  public var hasActions: Bool { !forms[0].action.isEmpty }
  public var actions: [String] { forms.map(\.action) }

  /// The options of all forms, each once.
  public var options: [CommandOption] {
    var options: [CommandOption] = []
    for option in forms.flatMap(\.options) where !options.contains(where: { $0.name == option.name }) {
      options.append(option)
    }
    return options
  }
}

/// One way to call a command.
public struct CommandForm: Sendable {
  /// The word behind the command; empty if the command has no actions.
  public let action: String
  /// What the action does, in one line.
  public let summary: String
  public let arguments: [CommandArgument]
  public let options: [CommandOption]
  /// Of the options of each group at most one may be given.
  public let only: [[String]]

  public init(
    _ action: String, _ summary: String, _ arguments: [CommandArgument] = [], _ options: [CommandOption] = [],
    only: [[String]] = []
  ) {
    self.action = action
    self.summary = summary
    self.arguments = arguments
    self.options = options
    self.only = only
    for name in only.joined() {
      precondition(options.contains { $0.name == name }, "\(action): no option --\(name)")
    }
  }
}

/// A word that is not an option.
public struct CommandArgument: Sendable {
  /// As help shows it, in capitals.
  public let name: String
  /// The words that are allowed; empty for any.
  public let choices: [String]
  public let isOptional: Bool
  public let isFile: Bool

  public init(_ name: String, of choices: [String] = [], isOptional: Bool = false, isFile: Bool = false) {
    self.name = name
    self.choices = choices
    self.isOptional = isOptional
    self.isFile = isFile
  }

  var placeholder: String {
    let word = choices.isEmpty ? name : choices.joined(separator: "|")
    return isOptional ? "[\(word)]" : word
  }
}

/// An option of a command.
public struct CommandOption: Sendable {
  public enum Value: Sendable {
    /// None: the option is a flag.
    case none
    /// Any text. The name as help shows it, in capitals.
    case text(String)
    case number(String, ClosedRange<Int>)
    /// One of these.
    case choice(String, [String])
    /// Some of these, separated by commas.
    case list(String, [String])
    case file(String)
    case directory(String)
  }

  /// Without its hyphens.
  public let name: String
  public let value: Value
  /// A sentence without a full stop at its end, in lower case.
  public let help: String
  public let isRequired: Bool
  public let isRepeatable: Bool

  /// A flag.
  public init(_ name: String, _ help: String) { self.init(name, .none, help) }

  public init(
    _ name: String, _ value: Value, isRequired: Bool = false, isRepeatable: Bool = false, _ help: String
  ) {
    self.name = name
    self.value = value
    self.help = help
    self.isRequired = isRequired
    self.isRepeatable = isRepeatable
  }

  public var isFlag: Bool { if case .none = value { true } else { false } }

  /// The words that the value may be; empty for any.
  public var choices: [String] {
    switch value {
    case .choice(_, let choices), .list(_, let choices): choices
    case .none, .text, .number, .file, .directory: []
    }
  }

  /// The name of the value as help shows it; empty for a flag.
  public var placeholder: String {
    switch value {
    case .none: ""
    case .text(let name), .number(let name, _), .choice(let name, _), .list(let name, _), .file(let name),
      .directory(let name):
      name
    }
  }

  /// ``help``, the words that the value may be, and whether the option may be repeated.
  public var description: String {
    help + (choices.isEmpty ? "" : "; one of \(choices.joined(separator: ", "))")
      + (isRepeatable ? "; may be repeated" : "")
  }

  /// `--name` with the placeholder of its value.
  var call: String { isFlag ? "--\(name)" : "--\(name) \(placeholder)" }
}

/// A command line that is not allowed.
public struct UsageError: Error, Equatable, CustomStringConvertible {
  public let description: String

  public init(_ description: String) {
    self.description = description
  }
}
