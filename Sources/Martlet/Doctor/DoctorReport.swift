import JSON
import Telemetry

/// Findings as they are shown, one line each.
package enum DoctorReport {
  static func text(_ findings: [Finding]) -> String {
    let width = findings.map(\.check.count).max() ?? 0
    return findings.map { finding in
      let status = finding.status.rawValue + String(repeating: " ", count: 4 - finding.status.rawValue.count)
      let check = finding.check + String(repeating: " ", count: width - finding.check.count)
      return TerminalText.line("\(status)  \(check)  \(finding.text)\(finding.fix.map { "; \($0)" } ?? "")") + "\n"
    }.joined()
  }

  /// `{"check","status","text","fix"}`, an object per line.
  static func json(_ findings: [Finding]) -> String {
    findings.map { finding in
      var writer = JSONWriter()
      writer.beginObject()
      for (key, value) in [
        ("check", finding.check), ("status", finding.status.rawValue), ("text", finding.text),
        ("fix", finding.fix),
      ] {
        guard let value else { continue }
        writer.key(key)
        writer.string(value)
      }
      writer.endObject()
      return String(decoding: writer.bytes, as: UTF8.self) + "\n"
    }.joined()
  }
}
