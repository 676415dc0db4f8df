import JSON
import Telemetry

/// The result of one check of `martlet doctor`.
package struct Finding: Sendable, Equatable {
  enum Status: String, Sendable {
    case ok
    /// Information, not a fault.
    case note
    /// It works, but may fail later.
    case warn
    /// It does not work.
    case fail
  }

  /// What was checked, in a word or two.
  let check: String
  let status: Status
  /// What was found.
  let text: String
  /// What the operator should do.
  let fix: String?

  init(_ check: String, _ status: Status, _ text: String, fix: String? = nil) {
    self.check = check
    self.status = status
    self.text = text
    self.fix = fix
  }
}

/// The output of `martlet doctor`.
package enum DoctorReport {
  /// Returns one line for each finding.
  static func text(_ findings: [Finding]) -> String {
    let width = findings.map(\.check.count).max() ?? 0
    return findings.map { finding in
      let status = finding.status.rawValue + String(repeating: " ", count: 4 - finding.status.rawValue.count)
      let check = finding.check + String(repeating: " ", count: width - finding.check.count)
      return TerminalText.line("\(status)  \(check)  \(finding.text)\(finding.fix.map { "; \($0)" } ?? "")") + "\n"
    }.joined()
  }

  /// Returns one object `{"check","status","text","fix"}` per line.
  static func json(_ findings: [Finding]) -> String {
    findings.map { finding in
      let object: JSONObject = [
        "check": finding.check, "status": finding.status.rawValue, "text": finding.text, "fix": finding.fix,
      ]
      return object.line
    }.joined()
  }
}
