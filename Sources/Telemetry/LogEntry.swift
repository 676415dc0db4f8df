import JSON

/// One event of the log.
struct LogEntry {
  let unixMilliseconds: Int64
  let level: LogLevel
  let message: String
  let fields: KeyValuePairs<String, Log.Field>

  func line(isText: Bool) -> String { isText ? text : json }

  /// `{"time":"2026-01-02T03:04:05.678Z","level":"info","message":"…","queue":"push:jobs"}` and a line end.
  private var json: String {
    var line = "{\"time\":\"\(timestamp)\",\"level\":\"\(level)\",\"message\":"
    LogEntry.appendQuoted(message, to: &line)
    for (name, value) in fields {
      if case .absent = value { continue }
      line += ","
      LogEntry.appendQuoted(name, to: &line)
      line += ":"
      switch value {
      case .string(let string): LogEntry.appendQuoted(string, to: &line)
      case .integer(let integer): line += String(integer)
      case .boolean(let boolean): line += boolean ? "true" : "false"
      case .absent: break
      }
    }
    return line + "}\n"
  }

  /// `03:04:05.678 info  message name=value` and a line end.
  private var text: String {
    let clock = timestamp.dropFirst(11).dropLast()
    let pad = String(repeating: " ", count: 5 - "\(level)".count)
    var line = "\(clock) \(level)\(pad) \(message)"
    for (name, value) in fields {
      switch value {
      case .string(let string): line += " \(name)=\(LogEntry.printable(string))"
      case .integer(let integer): line += " \(name)=\(integer)"
      case .boolean(let boolean): line += " \(name)=\(boolean)"
      case .absent: break
      }
    }
    return line + "\n"
  }

  private var timestamp: String { Timestamp.text(unixMilliseconds) }

  /// Replaces control characters, with which a hostile value could forge lines or move the cursor.
  private static func printable(_ string: String) -> String {
    String(String.UnicodeScalarView(string.unicodeScalars.map { TerminalText.isShown($0) ? $0 : "�" }))
  }

  private static func appendQuoted(_ string: String, to line: inout String) {
    line += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": line += "\\\""
      case "\\": line += "\\\\"
      case _ where !TerminalText.isShown(scalar): line += TerminalText.escape(scalar)
      default: line.unicodeScalars.append(scalar)
      }
    }
    line += "\""
  }
}
