import EventLoop
package import Usage

/// A subcommand of `martlet`.
package protocol Command: Sendable {
  static var usage: CommandUsage { get }
  /// Runs the command with the words after its name. Throws ``CommandError`` or ``ConfigurationFaults``.
  @EventLoop static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode
}

extension Command {
  /// The word behind `martlet`.
  package static var name: String { String(usage.path.dropFirst("martlet ".count)) }
}

/// The exit codes of `martlet`.
package enum ExitCode: Int32 {
  case done = 0
  case failed = 1
  case wrongUsage = 2
}

/// Why a command could not do its work. Invalid settings are ``ConfigurationFaults``.
package enum CommandError: Error, Equatable {
  /// The command line is invalid. Exit code 2.
  case usage(String)
  /// The command failed. Exit code 1.
  case failed(String)
  /// The configuration does not allow the command. Exit code 2.
  case refused(String)
}
