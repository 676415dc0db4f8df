extension CommandUsage {
  private static let width = 120
  /// Where the text of an option begins, if its name is short enough.
  private static let indent = 22

  /// What `--help` prints: how to call the command, its text, its options.
  public var help: String {
    var lines = forms.enumerated().flatMap { index, form in synopsis(form, isFirst: index == 0) }
    for paragraph in text.split(separator: "\n\n").map(String.init) {
      lines += [""] + (paragraph.hasPrefix(" ") ? [paragraph] : CommandUsage.wrapped(paragraph, indent: 0))
    }
    if !options.isEmpty { lines += [""] + options.flatMap(CommandUsage.described) }
    return lines.map { $0 + "\n" }.joined() + "\n"
  }

  /// `usage: martlet dead list [--limit N] [--json | --raw]`
  private func synopsis(_ form: CommandForm, isFirst: Bool) -> [String] {
    let command = form.action.isEmpty ? path : "\(path) \(form.action)"
    let head = (isFirst ? "usage: " : "       ") + command
    return CommandUsage.wrapped([head] + form.words, indent: 8 + path.count)
  }

  private static func described(_ option: CommandOption) -> [String] {
    let call = "  " + option.call
    let text = wrapped(option.description, indent: indent)
    guard call.count + 2 <= indent else { return [call] + text }
    return [call + text[0].dropFirst(call.count)] + text.dropFirst()
  }

  private static func wrapped(_ text: String, indent: Int) -> [String] {
    let space = String(repeating: " ", count: indent)
    let words = text.split { $0 == " " || $0 == "\n" }.map(String.init)
    return wrapped([space + words[0]] + words.dropFirst(), indent: indent)
  }

  /// Lines of at most ``width`` characters. The words, of which one may contain spaces, stay whole.
  static func wrapped(_ words: [String], indent: Int) -> [String] {
    var lines = [words[0]]
    for word in words.dropFirst() {
      if lines[lines.count - 1].count + 1 + word.count > width {
        lines.append(String(repeating: " ", count: indent) + word)
      } else {
        lines[lines.count - 1] += " " + word
      }
    }
    return lines
  }
}

extension CommandForm {
  /// The arguments and options of a synopsis.
  var words: [String] {
    var words = arguments.map(\.placeholder)
    for option in options {
      if let group = only.first(where: { $0.contains(option.name) }) {
        guard group.first == option.name else { continue }
        let calls = group.compactMap { name in options.first { $0.name == name }?.call }
        words.append("[\(calls.joined(separator: " | "))]")
      } else {
        words.append((option.isRequired ? option.call : "[\(option.call)]") + (option.isRepeatable ? "..." : ""))
      }
    }
    return words
  }
}
