/// The answer to a push. Source of the reasons: Apple's "Handling notification responses from APNs".
struct Answer: Equatable, Sendable {
  var status: Int
  /// Nil for 200.
  var reason: String?
  /// With 410: when the token became invalid, unix milliseconds.
  var timestamp: Int64?
  /// Seconds.
  var retryAfter: Int?
  /// Of a request about one channel: its id.
  var channelID: String?
  /// The body of an answer that is not a refusal.
  var content: [UInt8] = []
  /// Whether it answers a request about channels, whose id is in another field.
  var isOfChannels = false

  init(_ status: Int, _ reason: String? = nil, timestamp: Int64? = nil, retryAfter: Int? = nil) {
    self.status = status
    self.reason = reason
    self.timestamp = timestamp
    self.retryAfter = retryAfter
  }

  init(_ status: Int, channelID: String?, content: [UInt8] = []) {
    self.init(status, nil)
    self.channelID = channelID
    self.content = content
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

  var isAccepted: Bool { (200...299).contains(status) }

  /// `{"reason":"Unregistered","timestamp":1700000000000}`, or the content without a reason.
  var body: [UInt8] {
    guard let reason else { return content }
    let since = timestamp.map { ",\"timestamp\":\($0)" } ?? ""
    return Array("{\"reason\":\"\(reason)\"\(since)}".utf8)
  }
}
