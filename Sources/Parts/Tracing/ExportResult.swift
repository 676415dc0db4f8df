import HTTPClient

/// What the answer to a request with spans means.
enum ExportResult: Equatable {
  case accepted
  /// To be sent again, for the reason.
  case retry(String, fix: String = ExportResult.fix)
  /// Never accepted, for the reason.
  case refused(String, fix: String = ExportResult.fix)

  static let fix = "see the collector's log and OTEL_EXPORTER_OTLP_ENDPOINT"
  /// There is no setting for an authority.
  private static let fixOfTrust =
    "add the authority that signed the collector's certificate to the system's (update-ca-certificates), then restart the worker; the certificate must name the host of OTEL_EXPORTER_OTLP_ENDPOINT"

  /// By the rules of OTLP/HTTP: 429, 502, 503 and 504 are retried.
  init(status: Int) {
    switch status {
    case 200...299: self = .accepted
    case 429, 502, 503, 504: self = .retry("HTTP \(status)")
    default: self = .refused("HTTP \(status)")
    }
  }

  init(_ error: HTTPClientError) {
    switch error {
    case .certificate: self = .retry(error.description, fix: ExportResult.fixOfTrust)
    case .configuration: self = .refused(error.description)
    default: self = .retry(error.description)
    }
  }
}
