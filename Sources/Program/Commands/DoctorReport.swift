import JSON
package import Operations
import Telemetry

/// The output of `martlet doctor`.
package enum DoctorReport {
  /// Returns one line for each finding.
  package static func text(_ findings: [Finding]) -> String {
    let width = findings.map(\.check.count).max() ?? 0
    return findings.map { finding in
      let status = finding.status + String(repeating: " ", count: 4 - finding.status.count)
      let check = finding.check + String(repeating: " ", count: width - finding.check.count)
      return TerminalText.line("\(status)  \(check)  \(finding.text)\(finding.fix.map { "; \($0)" } ?? "")") + "\n"
    }.joined()
  }

  /// Returns one object `{"check","status","text","fix"}` per line.
  package static func json(_ findings: [Finding]) -> String {
    findings.map { finding in
      let object: JSONObject = [
        "check": finding.check, "status": finding.status, "text": finding.text, "fix": finding.fix,
      ]
      return object.line
    }.joined()
  }
}

extension Finding {
  /// `check` is what was checked, in a word or two.
  package init(_ check: String, _ severity: Severity, _ text: String, fix: String? = nil) {
    self.init(severity, text, fix: fix, subject: check)
  }

  package var check: String { subject ?? "" }

  package var status: String {
    switch severity {
    case .ok: "ok"
    case .fact: "note"
    case .warning: "warn"
    case .problem: "fail"
    }
  }
}
