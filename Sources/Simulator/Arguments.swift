import HTTPServer
import JSON
import Usage

/// The command line.
struct Arguments: Equatable {
  private static let loopback = HTTPAddress.tcp(host: "127.0.0.1", port: 0)

  var listen = loopback
  var channels = loopback
  var control = loopback
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

  private static let streams = CommandOption.Value.number("N", 1...1_000_000)

  static let usage = CommandUsage(
    "apns-simulator", "a local APNs", [],
    [
      .init("listen", .text("HOST:PORT"), "address for pushes and broadcasts; default: 127.0.0.1:0, any free port"),
      .init("channels", .text("HOST:PORT"), "address for the management of channels; default: 127.0.0.1:0"),
      .init(
        "control", .text("HOST:PORT"),
        "address of the HTTP interface to ledger, devices and faults; default: 127.0.0.1:0"),
      .init(
        "name", .text("HOST"), isRepeatable: true,
        "a further host name of the server certificate, beside localhost, 127.0.0.1 and ::1"),
      .init(
        "dir", .directory("DIR"), "directory for ca.pem, the provider key and provider.env; default: a new one"),
      .init(
        "environment", .choice("NAME", ["production", "sandbox"]),
        "refuses tokens and keys that are bound to the other one; default: neither"),
      .init("max-streams", streams, "concurrent streams of a connection with a valid provider token; default: 1000"),
      .init("initial-streams", streams, "concurrent streams before the first valid provider token; default: 1"),
      .init("rtt", .number("MS", 0...600_000), "delay of every answer; default: 0"),
      .init(
        "key-id", .text("ID"),
        "with --team-id and --public-key: check provider tokens with this key; default: a new one"),
      .init("team-id", .text("ID"), "the team of the key"),
      .init("public-key", .file("FILE"), "the key, PEM"),
      .init(
        "token-updates", .number("SECONDS", 0...86_400),
        "minimum time between two new provider tokens of the key; default: 0, no limit"),
      .init("topic", .text("TOPIC"), isRepeatable: true, "allowed topic; default: all"),
      .init(
        "apple",
        """
        what is recorded of Apple's gateway: a window of 65,535 bytes, one stream after a refusal, bundle ids that are \
        bound at the first push, two new provider tokens of a team in 20 minutes
        """),
      .init("no-auth-check", "accept pushes without a provider token"),
      .init("no-ledger", "keep totals only"),
      .init("journal", .file("FILE"), "append a line of JSON for every push"),
    ],
    text: """
      Takes the place of APNs in tests: accepts pushes over HTTP/2, refuses what Apple refuses, counts them in a ledger, and
      fails on demand. Prints one line of JSON when it is ready; ends on SIGTERM or SIGINT.
      """)

  init() {}

  /// Parses `arguments`, which exclude the program's name.
  init(parsing arguments: [String]) throws(UsageError) {
    let line = try CommandLineWords(arguments, Arguments.usage)
    listen = try Arguments.address("listen", line) ?? listen
    channels = try Arguments.address("channels", line) ?? channels
    control = try Arguments.address("control", line) ?? control
    directory = line.value("dir")
    names = line.values("name")
    for name in names where name.isEmpty || !name.utf8.allSatisfy(Arguments.nameCharacters.contains) {
      throw UsageError("--name: \"\(name)\" is not a host name: expected letters, digits, dots and hyphens")
    }
    maximumStreams = line.integer("max-streams") ?? maximumStreams
    initialStreams = line.integer("initial-streams")
    addedMilliseconds = line.integer("rtt") ?? 0
    environment = line.value("environment").flatMap(GatewayEnvironment.init)
    (keyID, teamID, publicKeyPath) = (line.value("key-id"), line.value("team-id"), line.value("public-key"))
    topics = line.values("topic")
    tokenUpdateSeconds = line.integer("token-updates") ?? 0
    checksAuthorization = !line.has("no-auth-check")
    isLikeApple = line.has("apple")
    keepsIDs = !line.has("no-ledger")
    journalPath = line.value("journal")
    guard [0, 3].contains([keyID, teamID, publicKeyPath].count(where: { $0 != nil })) else {
      throw UsageError("--key-id, --team-id and --public-key go together")
    }
  }

  /// No other characters: the names are part of the text of a certificate's extension.
  private static let nameCharacters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-".utf8)

  private static func address(_ option: String, _ line: CommandLineWords) throws(UsageError) -> HTTPAddress? {
    guard let value = line.value(option) else { return nil }
    do {
      return try HTTPAddress(parsing: value)
    } catch {
      throw UsageError("--\(option): \(error)")
    }
  }
}
