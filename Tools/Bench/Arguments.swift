/// The command line of `martlet-bench`.
struct Arguments {
  var url = ""
  var authorityPath = ""
  var keyPath = ""
  var keyID = "BENCHKEY01"
  var teamID = "BENCHTEAM1"
  var pushes = 100_000
  /// Pushes in flight at once.
  var window = 1000
  var connections = 1
  /// Device tokens 1...tokens, as 64 hexadecimal digits, taken in turn.
  var tokens = 1000

  static let usage = """
    Usage: martlet-bench --url https://HOST:PORT --ca FILE --key FILE [options]
    Sends pushes with Martlet's APNs engine alone and prints one line of JSON.

      --key-id K --team-id T   of the provider key
      --pushes N               how many (100000)
      --window N               pushes in flight at once (1000)
      --connections N          1 to 16 (1)
      --tokens N               device tokens taken in turn (1000)

    """

  /// Parses `arguments`, which exclude the program's name.
  init(parsing arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    while let option = rest.popFirst() {
      guard let value = rest.popFirst() else { throw UsageError("\(option) needs a value") }
      switch option {
      case "--url": url = value
      case "--ca": authorityPath = value
      case "--key": keyPath = value
      case "--key-id": keyID = value
      case "--team-id": teamID = value
      case "--pushes": pushes = try Arguments.number(option, value)
      case "--window": window = try Arguments.number(option, value)
      case "--connections": connections = try Arguments.number(option, value)
      case "--tokens": tokens = try Arguments.number(option, value)
      default: throw UsageError("unknown option \(option)")
      }
    }
    guard !url.isEmpty, !authorityPath.isEmpty, !keyPath.isEmpty else {
      throw UsageError("--url, --ca and --key are needed")
    }
  }

  private static func number(_ option: String, _ value: String) throws(UsageError) -> Int {
    guard let number = Int(value), (1...100_000_000).contains(number) else {
      throw UsageError("\(option): \"\(value)\" is not a number from 1 to 100000000")
    }
    return number
  }
}

/// An invalid command line. The text names what is expected.
struct UsageError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
