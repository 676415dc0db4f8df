/// A subcommand of `martlet`.
protocol Command: Sendable {
  static var name: String { get }
  /// One line for the list of commands.
  static var summary: String { get }
  /// The whole text of `--help`.
  static var help: String { get }
  /// Runs it; the exit code.
  static func run(_ words: [String]) async throws -> ExitCode
}

/// What a program tells its caller.
enum ExitCode: Int32 {
  case done = 0
  case failed = 1
  case wrongUsage = 2
}

/// A command that could not do its work; exit 1.
package struct CommandFailure: Error {
  let message: String
}
