import HTTPServer

/// The command line.
struct Arguments: Equatable {
  var listen = HTTPAddress.tcp(host: "127.0.0.1", port: 0)
  var channels = HTTPAddress.tcp(host: "127.0.0.1", port: 0)
  var control = HTTPAddress.tcp(host: "127.0.0.1", port: 0)
  /// Nil for a new directory under the system's temporary directory.
  var directory: String?
  /// Host names of the certificate, beside localhost and its addresses.
  var names: [String] = []
  var maximumStreams = 1000
  /// Nil for the default: one while provider tokens are checked.
  var initialStreams: Int?
  var addedMilliseconds = 0
  /// Nil accepts the tokens of both.
  var environment: GatewayEnvironment?
  var keyID: String?
  var teamID: String?
  var publicKeyPath: String?
  var topics: [String] = []
  var tokenUpdateSeconds = 0
  var checksAuthorization = true
  var isLikeApple = false
  var keepsIDs = true
  var journalPath: String?
  var wantsHelp = false

  static let usage = """
    Usage: apns-simulator [options]
    A local APNs. Prints one line of JSON when it is ready; ends on SIGTERM or SIGINT.

      --listen HOST:PORT        address for pushes and broadcasts (127.0.0.1:0, any free port)
      --channels HOST:PORT      address for the management of channels (127.0.0.1:0)
      --control HOST:PORT       address of the HTTP interface to ledger, devices and faults (127.0.0.1:0)
      --name HOST               a further host name of the server certificate, repeatable (localhost, 127.0.0.1, ::1)
      --dir DIR                 directory for ca.pem, the provider key and provider.env (a new one)
      --environment NAME        production or sandbox: refuses tokens and keys that are bound to the other one (neither)
      --max-streams N           concurrent streams of a connection with a valid provider token (1000)
      --initial-streams N       concurrent streams before the first valid provider token (1)
      --rtt MS                  delay of every answer (0)
      --key-id K --team-id T --public-key FILE
                                check provider tokens with this key (a new one)
      --token-updates SECONDS   minimum time between two new provider tokens of the key (0, no limit)
      --topic TOPIC             allowed topic, repeatable (all)
      --apple                   what is recorded of Apple's gateway: a window of 65,535 bytes, one stream after a refusal, bundle
                                ids that are bound at the first push, two new provider tokens of a team in 20 minutes
      --no-auth-check           accept pushes without a provider token
      --no-ledger               keep totals only
      --journal FILE            append a line of JSON for every push
      --help

    """

  init() {}

  /// Parses `arguments`, which exclude the program's name.
  init(parsing arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    while let option = rest.popFirst() {
      switch option {
      case "--no-auth-check": checksAuthorization = false
      case "--apple": isLikeApple = true
      case "--no-ledger": keepsIDs = false
      case "--help", "-h": wantsHelp = true
      default:
        guard Arguments.withValue.contains(option) else { throw UsageError("unknown option \(option)") }
        guard let value = rest.popFirst() else { throw UsageError("\(option) needs a value") }
        try set(option, value)
      }
    }
    let own = [keyID, teamID, publicKeyPath].compactMap { $0 }
    guard own.isEmpty || own.count == 3 else {
      throw UsageError("--key-id, --team-id and --public-key go together")
    }
  }

  private static let withValue: Set = [
    "--listen", "--channels", "--control", "--name", "--dir", "--max-streams", "--initial-streams", "--rtt", "--key-id",
    "--team-id",
    "--public-key", "--environment", "--topic", "--token-updates", "--journal",
  ]

  private mutating func set(_ option: String, _ value: String) throws(UsageError) {
    switch option {
    case "--listen": listen = try Arguments.address(option, value)
    case "--channels": channels = try Arguments.address(option, value)
    case "--control": control = try Arguments.address(option, value)
    case "--name":
      guard !value.isEmpty, value.utf8.allSatisfy({ Arguments.nameCharacters.contains($0) }) else {
        throw UsageError("--name: \"\(value)\" is not a host name: expected letters, digits, dots and hyphens")
      }
      names.append(value)
    case "--dir": directory = value
    case "--environment":
      guard let environment = GatewayEnvironment(rawValue: value) else {
        throw UsageError("--environment: \"\(value)\" is not production or sandbox")
      }
      self.environment = environment
    case "--max-streams": maximumStreams = try Arguments.number(option, value, 1...1_000_000)
    case "--initial-streams": initialStreams = try Arguments.number(option, value, 1...1_000_000)
    case "--rtt": addedMilliseconds = try Arguments.number(option, value, 0...600_000)
    case "--token-updates": tokenUpdateSeconds = try Arguments.number(option, value, 0...86_400)
    case "--key-id": keyID = value
    case "--team-id": teamID = value
    case "--public-key": publicKeyPath = value
    case "--journal": journalPath = value
    case "--topic": topics.append(value)
    default: preconditionFailure("\(option) is not handled")
    }
  }

  /// No other characters: the names are part of the text of a certificate's extension.
  private static let nameCharacters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-".utf8)

  private static func address(_ option: String, _ value: String) throws(UsageError) -> HTTPAddress {
    do {
      return try HTTPAddress(parsing: value)
    } catch {
      throw UsageError("\(option): \(error)")
    }
  }

  private static func number(_ option: String, _ value: String, _ range: ClosedRange<Int>) throws(UsageError) -> Int {
    guard let number = Int(value), range.contains(number) else {
      throw UsageError("\(option): \"\(value)\" is not a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}

/// An invalid command line.
struct UsageError: Error, Equatable, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
