#if canImport(Glibc)
  import Glibc
#endif

/// The terminal, or the pipe, that a command talks to.
enum Console {
  static func print(_ text: String) { write(text, to: STDOUT_FILENO) }

  static func complain(_ text: String) { write(text, to: STDERR_FILENO) }

  static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  static var isErrorTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// Lines of stdin without their ends; a line over `maximumBytes` is cut one byte past it.
  static func lines(maximumBytes: Int) -> some Sequence<[UInt8]> {
    sequence(state: ()) { _ in
      var line: [UInt8] = []
      var hasRead = false
      while case let byte = getchar_unlocked(), byte != EOF {
        hasRead = true
        if byte == 0x0A { return line }
        if line.count <= maximumBytes { line.append(UInt8(truncatingIfNeeded: byte)) }
      }
      return hasRead ? line : nil
    }
  }

  /// Columns padded to their widest cell; numbers to the right.
  static func table(_ head: [String], _ rows: [[String]]) -> String {
    let all = [head] + rows
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

  private static func write(_ text: String, to descriptor: Int32) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let written = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard written > 0 else { return }
      bytes = bytes.dropFirst(written)
    }
  }
}
