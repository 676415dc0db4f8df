/// The answer to a push. Source of the reasons: Apple's "Handling notification responses from APNs".
struct Answer: Equatable, Sendable {
  var status: Int
  /// Nil for 200.
  var reason: String?
  /// With 410: when the token became invalid, unix milliseconds.
  var timestamp: Int64?
  /// Seconds.
  var retryAfter: Int?

  init(_ status: Int, _ reason: String? = nil, timestamp: Int64? = nil, retryAfter: Int? = nil) {
    self.status = status
    self.reason = reason
    self.timestamp = timestamp
    self.retryAfter = retryAfter
  }

  /// Returns the default reason for a status.
  static func usualReason(_ status: Int) -> String? {
    switch status {
    case 200: nil
    case 403: "ExpiredProviderToken"
    case 410: "Unregistered"
    case 429: "TooManyRequests"
    case 500: "InternalServerError"
    case 503: "ServiceUnavailable"
    default: "BadRequest"
    }
  }

  static let accepted = Answer(200)

  var isAccepted: Bool { status == 200 }

  /// `{"reason":"Unregistered","timestamp":1700000000000}`; empty without a reason.
  var body: [UInt8] {
    guard let reason else { return [] }
    let since = timestamp.map { ",\"timestamp\":\($0)" } ?? ""
    return Array("{\"reason\":\"\(reason)\"\(since)}".utf8)
  }
}
