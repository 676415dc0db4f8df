import Program
import Usage

/// `martlet completion`: prints what completes the words of a command line.
enum CompletionCommand: Command {
  static let usage = CommandUsage(
    "martlet completion", "print the completion of a shell",
    forms: Completion.Shell.allCases.map { CommandForm($0.rawValue, "of \($0.rawValue)") },
    text: """
      Prints a script that completes commands, options and values. Installed packages have it already.

        bash: martlet completion bash > ~/.local/share/bash-completion/completions/martlet
        zsh:  martlet completion zsh > "${fpath[1]}/_martlet"
        fish: martlet completion fish > ~/.config/fish/completions/martlet.fish
      """)

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    let line = try CommandLineWords(words, of: self)
    if let shell = Completion.Shell(rawValue: line.action) { Console.print(Martlet.completion.script(for: shell)) }
    return .done
  }
}
