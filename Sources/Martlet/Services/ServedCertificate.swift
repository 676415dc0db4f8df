import Crypto
import EventLoop
import HTTPServer
import JSON
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

  /// `certificate` is what the files contain now. The servers are started with it.
  init(_ files: CertificateFiles, _ certificate: ServerCertificate, metrics: Metrics, log: Log) {
    self.files = files
    current = certificate
    self.log = log
    metrics.gauge(
      "martlet_http_certificate_expiry_timestamp_seconds",
      help: "When the certificate that the HTTP API serves expires, in unix seconds."
    ) { [weak self] in Int(self?.current.expiry ?? 0) }
    log.info("TLS certificate in use", ServedCertificate.fields(certificate))
    warn()
  }

  /// Nil without TLS.
  convenience init?(_ settings: ListenerSettings, metrics: Metrics, log: Log) {
    guard let files = settings.certificateFiles, let certificate = settings.listener.certificate else { return nil }
    self.init(files, certificate, metrics: metrics, log: log)
  }

  /// Adds a server that gets each later certificate.
  func add(_ server: @escaping Replace) {
    servers.append(server)
  }

  /// Reads the files again and gives the certificate to the servers. With a fault they keep the one in use.
  func reload() {
    do throws(CertificateFiles.Fault) {
      try replace(with: try files.read())
    } catch {
      log.error(
        "TLS certificate cannot be replaced; the one in use stays",
        [
          "setting": .init(error.setting), "path": .init(error.path), "error": .init("the file \(error.reason)"),
          "fix": .init("provide \(error.expected); then send SIGHUP again"),
          "expires": .init(ServedCertificate.date(current.expiry)),
        ])
    }
  }

  private func replace(with certificate: ServerCertificate) throws(CertificateFiles.Fault) {
    guard certificate != current else {
      log.info("TLS certificate read again: it is the same", ServedCertificate.fields(certificate))
      return
    }
    do throws(HTTPServerError) {
      for server in servers { try server(certificate) }
    } catch {
      throw CertificateFiles.Fault(
        setting: CertificateFiles.certificateSetting, path: files.certificatePath, reason: "is not usable: \(error)",
        expected: "a certificate with an RSA, EC or Ed25519 key")
    }
    current = certificate
    log.info("TLS certificate replaced", ServedCertificate.fields(certificate))
    warn()
  }

  private func warn() {
    let fix = "renew it, then send SIGHUP"
    switch current.validity(at: Clock.unixMilliseconds / 1000) {
    case .valid: break
    case .expired:
      log.warn(
        "TLS certificate has expired: clients refuse it",
        ["expires": .init(ServedCertificate.date(current.expiry)), "fix": .init(fix)])
    case .notYet:
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
