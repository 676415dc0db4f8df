public import Foundation

/// The users of `deploy/redis`, enabled with a password, in a file for redis-server.
public struct RedisUsers: Sendable {
  private static let password = "of-the-tests"
  private let directory: TemporaryDirectory
  /// The names, in the order of the file.
  public let names: [String]

  /// `haveEveryKey`: instead of the patterns of the file.
  public init(haveEveryKey: Bool = false) async throws {
    let isOld = try await RedisServer.version().lexicographicallyPrecedes([7, 0])
    let source = RedisUsers.file(isOld ? "users-6.2.acl" : "users.acl")
    let lines = try String(contentsOf: source, encoding: .utf8).split(separator: "\n")
    directory = try TemporaryDirectory()
    names = lines.compactMap { $0.split(separator: " ").dropFirst().first.map(String.init) }
    let enabled = lines.map { line in
      let all = line.split(separator: " ").map(String.init)
      let words = haveEveryKey ? RedisUsers.words(of: line).filter { !$0.contains("~") } + ["~*"] : all
      return words.map { $0 == "off" ? "on >\(RedisUsers.password)" : $0 == "resetpass" ? "" : $0 }
        .joined(separator: " ")
    }
    try (enabled.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
  }

  private var path: String { "\(directory.path)/users.acl" }

  /// For redis-server.
  public var arguments: [String] { ["--aclfile", path] }

  public func url(of user: String, on server: RedisServer) -> String {
    "unix://\(user):\(RedisUsers.password)@\(server.socketPath)"
  }

  /// Options of redis-cli.
  public func options(of user: String) -> [String] {
    ["--user", user, "--pass", RedisUsers.password, "--no-auth-warning"]
  }

  /// The words of a line, without the parentheses of selectors.
  public static func words(of line: some StringProtocol) -> [String] {
    line.split(separator: " ").map { String($0.filter { !"()".contains($0) }) }
  }

  /// Whether `answer` says that a right is missing, of a command or in a script.
  public static func isRefusal(_ answer: String) -> Bool {
    answer.contains("NOPERM") || answer.contains("The user executing the script can't")
  }

  /// A file of `deploy/redis`.
  public static func file(_ name: String) -> URL {
    URL(filePath: #filePath).appending(path: "../../../deploy/redis/\(name)").standardizedFileURL
  }
}
