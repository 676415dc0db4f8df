import Worker

/// The words after a subcommand, read against what it knows.
struct CommandLineWords {
  /// A call that cannot be understood; exit 2.
  struct Misuse: Error, Equatable {
    let message: String
  }

  private(set) var positional: [String] = []
  private var values: [String: [String]] = [:]
  private var flags: Set<String> = []

  /// `options` take a value (`--limit 10` or `--limit=10`) and may stand several times, `flags` take none.
  init(_ words: [String], options: Set<String> = [], flags known: Set<String> = []) throws(Misuse) {
    var rest = words[...]
    while let word = rest.popFirst() {
      guard word.hasPrefix("--"), word != "--" else {
        guard !word.hasPrefix("-") || word == "-" || word == "--" else {
          throw Misuse(message: "unknown option \(word)")
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
        guard parts.count == 1 else { throw Misuse(message: "--\(name) takes no value") }
        flags.insert(name)
      } else if options.contains(name) {
        guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
          throw Misuse(message: "--\(name) needs a value")
        }
        values[name, default: []].append(value)
      } else {
        throw Misuse(message: "unknown option --\(name)")
      }
    }
  }

  /// For a command that knows options only.
  func refuseArguments() throws(Misuse) {
    guard positional.isEmpty else { throw Misuse(message: "takes no arguments") }
  }

  func has(_ flag: String) -> Bool { flags.contains(flag) }

  /// The last value given.
  func value(_ option: String) -> String? { values[option]?.last }

  /// Every value given, in its order.
  func values(_ option: String) -> [String] { values[option] ?? [] }

  /// The last list named by --queue.
  func queue() throws(Misuse) -> String? {
    guard let name = value("queue") else { return nil }
    guard WorkerConfiguration.isQueueName(name) else {
      throw Misuse(message: "--queue takes the name of a list, without braces or spaces")
    }
    return name
  }

  func integer(_ option: String, in range: ClosedRange<Int>) throws(Misuse) -> Int? {
    guard let text = value(option) else { return nil }
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text), range.contains(number) else {
      throw Misuse(message: "--\(option) takes a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
