import JSON
import Telemetry

#if canImport(Glibc)
  import Glibc
#endif

/// The standard streams of a command, whether a terminal or a pipe.
///
/// Text is escaped by ``TerminalText/lines(_:)``, so that producers' bytes cannot control a terminal. A value that must stay in one
/// line is escaped by ``TerminalText/line(_:)`` first.
package enum Console {
  /// Writes to stdout. Ends the program as failed if that is not possible.
  package static func print(_ text: String) { printRaw(Array(TerminalText.lines(text).utf8)) }

  /// Writes bytes unchanged to stdout.
  package static func printRaw(_ bytes: [UInt8]) {
    guard !write(bytes, to: STDOUT_FILENO) else { return }
    // The reader of a pipe may close it at any time.
    if errno != EPIPE {
      complain("martlet: cannot write to standard output: \(String(cString: strerror(errno)))\n")
    }
    Glibc.exit(ExitCode.failed.rawValue)
  }

  /// Writes to stderr, behind the lines of the log. Errors are ignored, because they could not be shown.
  package static func complain(_ text: String) {
    Log.flush()
    _ = write(Array(TerminalText.lines(text).utf8), to: STDERR_FILENO)
  }

  package static func clearScreen() { printRaw(Array("\u{1B}[H\u{1B}[2J".utf8)) }

  /// Replaces the last line of stderr.
  package static func showProgress(_ text: String) {
    _ = write(Array("\r\u{1B}[K\(TerminalText.line(text))".utf8), to: STDERR_FILENO)
  }

  /// Replaces standard descriptors that are closed with ones that refuse reading and writing. Otherwise a socket would get their
  /// number and receive the output. Call this first.
  package static func holdStandardDescriptors() {
    for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
    where fcntl(descriptor, F_GETFD) == -1 {
      // open returns the lowest free number, which is this one.
      _ = open("/dev/null", mode)
    }
  }

  package static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  package static var isErrorTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// The lines of stdin without line ends. A line longer than `maximumBytes` is cut to one byte more. Ends the program as failed if
  /// stdin cannot be read.
  package static func lines(maximumBytes: Int) -> some Sequence<[UInt8]> {
    sequence(state: ()) { _ in
      var line: [UInt8] = []
      var hasRead = false
      errno = 0
      while case let byte = getchar_unlocked(), byte != EOF {
        hasRead = true
        if byte == 0x0A { return line }
        if line.count <= maximumBytes { line.append(UInt8(truncatingIfNeeded: byte)) }
      }
      guard errno == 0 else {
        complain("martlet: cannot read standard input: \(String(cString: strerror(errno)))\n")
        Glibc.exit(ExitCode.failed.rawValue)
      }
      return hasRead ? line : nil
    }
  }

  /// The ``lines(maximumBytes:)`` that are not blank, with their numbers from 1.
  package static func filledLines(maximumBytes: Int) -> some Sequence<(Int, [UInt8])> {
    zip(1..., lines(maximumBytes: maximumBytes)).lazy.filter { _, line in
      !line.allSatisfy { $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }
    }
  }

  /// Returns a line for each fact. Values are escaped.
  package static func facts(_ facts: [(name: String, value: String)]) -> String {
    facts.map { $0 + String(repeating: " ", count: 10 - $0.count) + TerminalText.line($1) + "\n" }.joined()
  }

  /// Returns a table with padded columns and numbers aligned right. Cells are escaped unless `isRaw`.
  package static func table(_ head: [String], _ rows: [[String]], isRaw: Bool = false) -> String {
    let all = [head] + (isRaw ? rows : rows.map { $0.map(TerminalText.line) })
    let widths = head.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
    return all.map { row in
      let cells = row.enumerated().map { column, cell in
        let pad = String(repeating: " ", count: widths[column] - cell.count)
        return cell.number(in: -Double.infinity...Double.infinity) != nil ? pad + cell : cell + pad
      }
      let line = cells.joined(separator: "  ")
      return String(line.reversed().drop { $0 == " " }.reversed()) + "\n"
    }.joined()
  }

  /// Returns false if not all bytes could be written; `errno` is the reason.
  private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var bytes = bytes[...]
    while !bytes.isEmpty {
      let written = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written < 0, errno == EINTR { continue }
      guard written > 0 else { return false }
      bytes = bytes.dropFirst(written)
    }
    return true
  }
}
