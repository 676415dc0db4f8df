import Crypto
import EventLoop
import HTTPServer
import JSON
import Program
import Telemetry

/// The certificate of the HTTPS servers of a process: its files, its metric, its log lines, and its replacement.
@EventLoop
final class ServedCertificate {
  /// Makes a server use the certificate for new connections.
  typealias Replace = @EventLoop (ServerCertificate) throws(HTTPServerError) -> Void

  private let files: CertificateFiles
  private var current: ServerCertificate
  private var servers: [Replace] = []
  private let log: Log

  /// The servers are started with the certificate of the settings. Nil without TLS.
  init?(_ settings: ListenerSettings, metrics: Metrics, log: Log) {
    guard let files = settings.certificateFiles, let certificate = settings.listener.certificate else { return nil }
    self.files = files
    current = certificate
    self.log = log
    metrics.gauge(
      "martlet_http_certificate_expiry_timestamp_seconds",
      help: "when the [TLS](operations.md#tls) certificate in use expires, in unix seconds",
      worry: "it is less than 14 days ahead: renewal does not work"
    ) { [weak self] in Double(self?.current.expiry ?? 0) }
    // Operator: Nothing. `expires` is the end of the certificate.
    log.info("TLS certificate in use", ServedCertificate.fields(certificate))
    warn()
  }

  /// Adds a server that gets each later certificate.
  func add(_ server: @escaping Replace) {
    servers.append(server)
  }

  /// Reads the files again and gives the certificate to the servers. With a fault they keep the one in use.
  func reload() {
    let (certificate, faults) = files.read()
    if let fault = certificate.map({ replace(with: $0) }) ?? faults.first { report(fault) }
  }

  /// Returns the fault of a certificate that a server does not accept.
  private func replace(with certificate: ServerCertificate) -> InvalidValue? {
    guard certificate != current else {
      log.info("TLS certificate read again: it is the same", ServedCertificate.fields(certificate))
      return nil
    }
    do throws(HTTPServerError) {
      for server in servers { try server(certificate) }
    } catch {
      return files.fault("is not usable: \(error)", expected: "a certificate with an RSA, EC or Ed25519 key")
    }
    current = certificate
    log.info("TLS certificate replaced", ServedCertificate.fields(certificate))
    warn()
    return nil
  }

  private func report(_ fault: InvalidValue) {
    // Operator: Follow `fix`. `setting` and `error` name the file.
    log.error(
      "TLS certificate cannot be replaced; the one in use stays",
      [
        "setting": .init(fault.place), "error": .init(fault.seen),
        "fix": .init("provide \(fault.expected); then send SIGHUP again"),
        "expires": .init(ServedCertificate.date(current.expiry)),
      ])
  }

  private func warn() {
    let fix = "renew it, then send SIGHUP"
    switch current.validity(at: Clock.unixMilliseconds / 1000) {
    case .valid: break
    case .expired:
      // Operator: [Renew](operations.md#tls) it, then send SIGHUP.
      log.warn(
        "TLS certificate has expired: clients refuse it",
        ["expires": .init(ServedCertificate.date(current.expiry)), "fix": .init(fix)])
    case .notYet:
      // Operator: Check the clock.
      log.warn(
        "TLS certificate is not valid yet: clients refuse it",
        ["starts": .init(ServedCertificate.date(current.start)), "fix": .init("check the clock, or \(fix)")])
    }
  }

  private static func fields(_ certificate: ServerCertificate) -> KeyValuePairs<String, Log.Field> {
    ["subject": .init(certificate.subject), "expires": .init(date(certificate.expiry))]
  }

  private static func date(_ seconds: Int64) -> String { Timestamp.text(seconds * 1000) }
}
