import HTTPClient

/// What the answer to a request with spans means.
enum ExportResult: Equatable {
  case accepted
  /// To be sent again, for the reason.
  case retry(String)
  /// Never accepted, for the reason.
  case refused(String)

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
    case .configuration: self = .refused(error.description)
    default: self = .retry(error.description)
    }
  }
}
