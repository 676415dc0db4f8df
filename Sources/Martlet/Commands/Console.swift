import Telemetry

#if canImport(Glibc)
  import Glibc
#endif

/// The terminal, or the pipe, that a command talks to.
///
/// Text is written as ``TerminalText/lines(_:)``, whoever reads it: what came from producers cannot move a cursor. A value
/// that must not begin a line of its own goes through ``TerminalText/line(_:)`` before.
enum Console {
  /// Ends the program, as failed, when it cannot be written: whoever asked has not been told.
  static func print(_ text: String) { printRaw(Array(TerminalText.lines(text).utf8)) }

  /// Bytes as they are.
  static func printRaw(_ bytes: [UInt8]) {
    guard !write(bytes, to: STDOUT_FILENO) else { return }
    // Who has closed the other end of a pipe has seen enough.
    if errno != EPIPE {
      complain("martlet: cannot write to standard output: \(String(cString: strerror(errno)))\n")
    }
    Glibc.exit(ExitCode.failed.rawValue)
  }

  /// There is nobody to complain to when this fails.
  static func complain(_ text: String) { _ = write(Array(TerminalText.lines(text).utf8), to: STDERR_FILENO) }

  static func clearScreen() { printRaw(Array("\u{1B}[H\u{1B}[2J".utf8)) }

  /// Puts `text` in the place of the last line of stderr.
  static func showProgress(_ text: String) {
    _ = write(Array("\r\u{1B}[K\(TerminalText.line(text))".utf8), to: STDERR_FILENO)
  }

  /// Standard descriptors that were closed become ones that refuse reading and writing: otherwise a socket would take their
  /// number, and be written to as if it were the output. To be called first.
  static func holdStandardDescriptors() {
    for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
    where fcntl(descriptor, F_GETFD) == -1 {
      // The lowest free number is this one.
      _ = open("/dev/null", mode)
    }
  }

  static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  static var isErrorTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// Lines of stdin without their ends; a line over `maximumBytes` is cut one byte past it. Ends the program, as failed, when
  /// stdin cannot be read.
  static func lines(maximumBytes: Int) -> some Sequence<[UInt8]> {
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

  /// Columns padded to their widest cell; numbers to the right. Cells are escaped, unless `isRaw`.
  static func table(_ head: [String], _ rows: [[String]], isRaw: Bool = false) -> String {
    let all = [head] + (isRaw ? rows : rows.map { $0.map(TerminalText.line) })
    let widths = head.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
    return all.map { row in
      let cells = row.enumerated().map { column, cell in
        let pad = String(repeating: " ", count: widths[column] - cell.count)
        return Double(cell) != nil ? pad + cell : cell + pad
      }
      let line = cells.joined(separator: "  ")
      return String(line.reversed().drop { $0 == " " }.reversed()) + "\n"
    }.joined()
  }

  /// False when not all could be written; `errno` says why.
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
