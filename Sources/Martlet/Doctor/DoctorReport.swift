import JSON
import Telemetry

/// Findings as they are shown, one line each.
package enum DoctorReport {
  static func text(_ findings: [Finding]) -> String {
    let width = findings.map(\.check.count).max() ?? 0
    return findings.map { finding in
      let verdict = finding.verdict.rawValue + String(repeating: " ", count: 4 - finding.verdict.rawValue.count)
      let check = finding.check + String(repeating: " ", count: width - finding.check.count)
      return TerminalText.line("\(verdict)  \(check)  \(finding.text)\(finding.mend.map { "; \($0)" } ?? "")") + "\n"
    }.joined()
  }

  /// `{"check","verdict","text","mend"}`, an object per line.
  static func json(_ findings: [Finding]) -> String {
    findings.map { finding in
      var writer = JSONWriter()
      writer.beginObject()
      for (key, value) in [
        ("check", finding.check), ("verdict", finding.verdict.rawValue), ("text", finding.text),
        ("mend", finding.mend),
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
