import Crypto
import JSON
import Operations
import Program

/// Checks a TLS certificate, by default that of the HTTP API. Files that cannot be used are faults of their settings.
package struct CertificateExamination {
  /// Less than automatic renewal leaves: 30 days of a certificate of 90 days.
  private static let warningDays: Int64 = 14
  private static let secondsOfDay: Int64 = 86_400

  let certificate: ServerCertificate
  /// What was checked.
  var check = "certificate"
  /// What an expired certificate means.
  var refusers = "clients refuse it"
  var fix = "renew it, then send SIGHUP to the sidecars"

  /// `now` is in unix seconds.
  func finding(at now: Int64) -> Finding {
    let expiry = Timestamp.text(certificate.expiry * 1000)
    switch certificate.validity(at: now) {
    case .expired:
      return Finding(check, .problem, "\(name) expired at \(expiry): \(refusers)", fix: fix)
    case .notYet:
      let start = Timestamp.text(certificate.start * 1000)
      return Finding(check, .problem, "\(name) is not valid before \(start)", fix: "check the clock of this machine")
    case .valid:
      let days = (certificate.expiry - now) / CertificateExamination.secondsOfDay
      if days >= CertificateExamination.warningDays {
        return Finding(check, .ok, "\(name) and its key can be used until \(expiry)")
      }
      return Finding(check, .warning, "\(name) expires in \(days) days, at \(expiry)", fix: fix)
    }
  }

  private var name: String {
    certificate.subject.isEmpty ? "the certificate" : "the certificate of \(certificate.subject)"
  }
}
