/// What completes the words of a program in a shell. Made from the usages of its commands.
public struct Completion: Sendable {
  public enum Shell: String, Sendable, CaseIterable { case bash, zsh, fish }

  private let program: String
  /// One without a summary is the program itself, which then has no commands.
  private let commands: [CommandUsage]

  /// - Parameter commands: Those of the program, or the only usage of a program without commands.
  public init(of program: String, _ commands: [CommandUsage]) {
    self.program = program
    self.commands = commands
  }

  public func script(for shell: Shell) -> String {
    switch shell {
    case .bash: bash
    case .zsh: zsh
    case .fish: fish
    }
  }

  private var hasCommands: Bool { commands[0].path != program }
  private var function: String { "_" + program.map { $0 == "-" ? "_" : String($0) }.joined() }

  private func name(_ usage: CommandUsage) -> String { String(usage.path.dropFirst(program.count + 1)) }

  /// Each form with the command and the action in front of its words; neither is there in a program without commands.
  private var forms: [(words: [String], form: CommandForm)] {
    commands.flatMap { usage in
      usage.forms.map { ((hasCommands ? [name(usage)] : []) + ($0.action.isEmpty ? [] : [$0.action]), $0) }
    }
  }

  // MARK: - bash

  private var bash: String {
    var lines = [
      "# Completion of \(program) in bash; needs no other package.", "", "\(function)() {",
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words='--help' files=''",
      "  COMPREPLY=()", "", "  # The value of an option.", "  case $previous in",
    ]
    var known: [String: CommandOption] = [:]
    for option in forms.flatMap(\.form.options) where !option.isFlag { known[option.name] = option }
    var free: [String] = []
    for (name, option) in known.sorted(by: { $0.key < $1.key }) {
      let compgen: String
      switch option.value {
      case .file: compgen = "-f"
      case .directory: compgen = "-d"
      case .choice(_, let choices), .list(_, let choices): compgen = "-W '\(choices.joined(separator: " "))'"
      case .none, .text, .number:
        free.append("--\(name)")
        continue
      }
      lines += [
        "    --\(name))", "      mapfile -t COMPREPLY < <(compgen \(compgen) -- \"$current\")", "      return ;;",
      ]
    }
    if !free.isEmpty { lines += CommandUsage.alternatives(free, indent: 4) + ["      return ;;"] }
    lines += ["  esac", ""]
    if hasCommands {
      lines += [
        "  if [ \"$COMP_CWORD\" -eq 1 ]; then",
        "    words='\((commands.map(name) + ["help", "--version", "--help"]).joined(separator: " "))'", "  else",
        "    case $COMP_CWORD:${COMP_WORDS[1]-}:${COMP_WORDS[2]-} in",
      ]
      for usage in commands {
        if usage.hasActions {
          lines.append("      2:\(name(usage)):*) words+=' \(usage.actions.joined(separator: " "))' ;;")
        }
        for form in usage.forms {
          let place = form.action.isEmpty ? "*:\(name(usage)):*" : "*:\(name(usage)):\(form.action)"
          lines += bash(form, place, indent: 6, behind: usage.hasActions ? 2 : 1)
        }
      }
      lines += ["    esac", "  fi"]
    } else {
      lines += ["  case $COMP_CWORD in"] + bash(commands[0].forms[0], "*", indent: 4, behind: 0) + ["  esac"]
    }
    lines += [
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")",
      "  [ -z \"$files\" ] || [[ $current = -* ]] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$current\")",
      "}", "",
      "complete -o filenames -F \(function) \(program)", "",
    ]
    return lines.joined(separator: "\n")
  }

  /// The case of a form. `behind`: the words of the command and its action.
  private func bash(_ form: CommandForm, _ place: String, indent: Int, behind: Int) -> [String] {
    let space = String(repeating: " ", count: indent)
    var words = form.options.map { "--\($0.name)" }
    let choices = form.arguments.first?.choices ?? []
    var lines: [String] = []
    if !choices.isEmpty {
      lines.append("\(space)  [ \"$COMP_CWORD\" -ne \(behind + 1) ] || words+=' \(choices.joined(separator: " "))'")
    }
    if form.arguments.contains(where: \.isFile) { lines.append("\(space)  files=yes") }
    if !words.isEmpty {
      words[0] = "words+=' " + words[0]
      lines += CommandUsage.wrapped(words, indent: indent + 4).map { "\(space)  " + $0.drop { $0 == " " } }
      lines[lines.count - 1] += "'"
    }
    guard !lines.isEmpty else { return [] }
    return ["\(space)\(place))"] + lines + ["\(space)  ;;"]
  }

  // MARK: - zsh

  private var zsh: String {
    var lines = ["#compdef \(program)", "# Completion of \(program) in zsh.", "", "\(function)() {"]
    if hasCommands {
      lines += ["  local -a list", "  if (( CURRENT == 2 )); then", "    if [[ $words[2] == -* ]]; then"]
      lines += [
        "      _arguments '--help[show the help]' '--version[show the version]'", "      return", "    fi",
        "    list=(",
      ]
      for usage in commands { lines.append("      \(Completion.quoted("\(name(usage)):\(usage.summary)"))") }
      lines += [
        "      'help:list the commands'", "    )", "    _describe command list", "    return", "  fi",
        "  case $words[2] in",
      ]
      for usage in commands {
        lines.append("    \(name(usage)))")
        if usage.hasActions {
          lines += ["      if (( CURRENT == 3 )) && [[ $words[3] != -* ]]; then", "        list=("]
          for form in usage.forms { lines.append("          \(Completion.quoted("\(form.action):\(form.summary)"))") }
          lines += [
            "        )", "        _describe action list", "        return", "      fi", "      case $words[3] in",
          ]
          for form in usage.forms {
            lines += ["        \(form.action))", "          shift 2 words", "          (( CURRENT -= 2 ))"]
            lines += zsh(form, indent: 10) + ["          ;;"]
          }
          lines += ["        *) _arguments '--help[show the help]' ;;", "      esac"]
        } else {
          lines += ["      shift words", "      (( CURRENT -= 1 ))"] + zsh(usage.forms[0], indent: 6)
        }
        lines.append("      ;;")
      }
      lines.append("  esac")
    } else {
      lines += zsh(commands[0].forms[0], indent: 2)
    }
    return (lines + ["}", "", "\(function) \"$@\"", ""]).joined(separator: "\n")
  }

  private func zsh(_ form: CommandForm, indent: Int) -> [String] {
    let space = String(repeating: " ", count: indent)
    var specs = ["'--help[show the help]'"]
    for option in form.options {
      let action: String
      switch option.value {
      case .none: action = ""
      case .text, .number: action = ":\(option.placeholder): "
      case .choice(_, let choices), .list(_, let choices):
        action = ":\(option.placeholder):(\(choices.joined(separator: " ")))"
      case .file: action = ":\(option.placeholder):_files"
      case .directory: action = ":\(option.placeholder):_files -/"
      }
      let help = option.help.map { "[]:".contains($0) ? "\\\($0)" : String($0) }.joined()
      specs.append(Completion.quoted("\(option.isRepeatable ? "*" : "")--\(option.name)[\(help)]\(action)"))
    }
    for (index, argument) in form.arguments.enumerated() {
      let values =
        argument.isFile ? "_files" : argument.choices.isEmpty ? " " : "(\(argument.choices.joined(separator: " ")))"
      specs.append(Completion.quoted("\(index + 1)\(argument.isOptional ? "::" : ":")\(argument.name):\(values)"))
    }
    return ["\(space)_arguments \\"] + specs.dropLast().map { "\(space)  \($0) \\" } + [
      "\(space)  \(specs[specs.count - 1])"
    ]
  }

  // MARK: - fish

  private var fish: String {
    var lines = ["# Completion of \(program) in fish.", ""]
    let complete = "complete -c \(program)"
    if hasCommands {
      lines += [
        "# True if the words before the cursor begin with these.", "function \(function)_is",
        "  set -l words (commandline -opc)", "  set -e words[1]",
        "  test (count $words) -ge (count $argv); or return 1",
        "  for i in (seq (count $argv))", "    test $words[$i] = $argv[$i]; or return 1", "  end", "end", "",
        "# True if the words before the cursor are exactly these.", "function \(function)_ends",
        "  set -l words (commandline -opc)", "  set -e words[1]",
        "  test (count $words) -eq (count $argv); and \(function)_is $argv", "end", "",
      ]
    }
    lines += ["\(complete) -f", "\(complete) -l help -d 'Show the help'"]
    if hasCommands {
      lines.append("\(complete) -n \(function)_ends -l version -d 'Show the version'")
      for usage in commands {
        lines.append("\(complete) -n \(function)_ends -a \(name(usage)) -d \(Completion.capitalized(usage.summary))")
      }
      lines.append("\(complete) -n \(function)_ends -a help -d 'List the commands'")
    }
    for usage in commands where usage.hasActions {
      for form in usage.forms {
        lines.append(
          "\(complete) -n '\(function)_ends \(name(usage))' -a \(form.action) -d \(Completion.capitalized(form.summary))"
        )
      }
    }
    for (words, form) in forms {
      let condition = words.isEmpty ? "" : " -n '\(function)_is \(words.joined(separator: " "))'"
      if let argument = form.arguments.first {
        let first = words.isEmpty ? "" : " -n '\(function)_ends \(words.joined(separator: " "))'"
        if argument.isFile { lines.append("\(complete)\(first) -F") }
        if !argument.choices.isEmpty {
          lines.append("\(complete)\(first) -a '\(argument.choices.joined(separator: " "))'")
        }
      }
      for option in form.options {
        let value: String
        switch option.value {
        case .none: value = ""
        case .text, .number: value = " -x"
        case .choice(_, let choices), .list(_, let choices): value = " -x -a '\(choices.joined(separator: " "))'"
        case .file: value = " -r -F"
        case .directory: value = " -x -a '(__fish_complete_directories)'"
        }
        lines.append("\(complete)\(condition) -l \(option.name)\(value) -d \(Completion.capitalized(option.help))")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func quoted(_ text: String) -> String {
    "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#))'"
  }

  private static func capitalized(_ text: String) -> String {
    let text = text.prefix(1).uppercased() + text.dropFirst()
    return "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"\'"#))'"
  }
}

extension CommandUsage {
  /// `--a | --b)`, broken into lines.
  static func alternatives(_ words: [String], indent: Int) -> [String] {
    let space = String(repeating: " ", count: indent)
    var parts = words.dropLast().map { "\($0) |" } + ["\(words[words.count - 1]))"]
    parts[0] = space + parts[0]
    let lines = wrapped(parts, indent: indent + 2)
    return lines.dropLast().map { $0 + " \\" } + [lines[lines.count - 1]]
  }
}
