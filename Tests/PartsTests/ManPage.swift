import Usage

/// The sections of a manual page, in mdoc, that describe a program's commands.
struct ManPage {
  /// One subsection for each command and action.
  static func commands(_ usages: [CommandUsage]) -> String {
    usages.flatMap { usage in
      if !usage.hasActions {
        return [".Ss \(usage.path)"] + text(usage.text) + options(usage.forms[0].options)
      }
      return [".Ss \(usage.path)"] + text(usage.text)
        + usage.forms.flatMap { form in
          [".Ss \(usage.path) \(form.action)"] + sentence(form.summary) + options(form.options)
        }
    }.joined(separator: "\n")
  }

  static func options(_ options: [CommandOption]) -> [String] {
    guard !options.isEmpty else { return [] }
    let items = options.flatMap { option in
      [".It Fl -\(option.name)" + (option.isFlag ? "" : " Ar \(escaped(option.placeholder))")]
        + sentence(option.description)
    }
    return [".Bl -tag -width Ds"] + items + [".El"]
  }

  private static func text(_ text: String) -> [String] {
    var lines: [String] = []
    for paragraph in text.split(separator: "\n\n").map(String.init) {
      if paragraph.hasPrefix(" ") {
        lines +=
          [".Bd -literal -offset indent"] + paragraph.split(separator: "\n").map { line(String($0.drop { $0 == " " })) }
          + [".Ed"]
      } else {
        if !lines.isEmpty { lines.append(".Pp") }
        lines += sentences(paragraph.split { $0 == "\n" }.joined(separator: " "))
      }
    }
    return lines
  }

  /// Each sentence on a line of its own, as mdoc asks for.
  private static func sentences(_ text: String) -> [String] {
    var lines: [String] = []
    var words: [Substring] = []
    for word in text.split(separator: " ") {
      words.append(word)
      if word.hasSuffix(".") || word.hasSuffix(".)") {
        lines.append(line(words.joined(separator: " ")))
        words = []
      }
    }
    return words.isEmpty ? lines : lines + [line(words.joined(separator: " "))]
  }

  private static func sentence(_ text: String) -> [String] {
    sentences(text.prefix(1).uppercased() + text.dropFirst() + ".")
  }

  /// A line of text, which is no request.
  private static func line(_ text: String) -> String {
    let text = escaped(text)
    return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
  }

  private static func escaped(_ text: String) -> String {
    text.unicodeScalars.map { scalar in
      switch scalar {
      case "\\": "\\e"
      case _ where scalar.isASCII: String(scalar)
      default: "\\[u\(String(scalar.value, radix: 16, uppercase: true).leftPadded)]"
      }
    }.joined()
  }
}

extension String {
  fileprivate var leftPadded: String { String(repeating: "0", count: max(0, 4 - count)) + self }
}
