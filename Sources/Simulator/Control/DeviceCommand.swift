import FoundationEssentials

/// `POST /devices`: `{"token":"…","rule":"unregistered","since":1700000000000}`, or an array of such.
struct DeviceCommand: Codable {
  let token: String
  /// `good` takes an earlier rule away.
  let rule: String
  /// Unix milliseconds; now when absent.
  var since: Int64?
  var topic: String?
  var status: Int?
  var reason: String?
  var retryAfter: Int?

  static func list(_ body: [UInt8]) throws -> [DeviceCommand] {
    let decoder = JSONDecoder()
    if body.first == UInt8(ascii: "[") { return try decoder.decode([DeviceCommand].self, from: Data(body)) }
    return [try decoder.decode(DeviceCommand.self, from: Data(body))]
  }

  /// Nil for a good device.
  var deviceRule: DeviceRule? {
    get throws(ControlError) {
      let since = since ?? Int64(UnixTime.nanoseconds / 1_000_000)
      switch rule {
      case "good": return nil
      case "unregistered": return .unregistered(since: since)
      case "expired": return .expired(since: since)
      case "bad": return .bad
      case "throttled": return .throttled
      case "forTopic":
        guard let topic else { throw ControlError("rule forTopic needs a \"topic\"") }
        return .forTopic(topic)
      case "fixed":
        return .fixed(try Answer(checkedStatus: status, reason, retryAfter: retryAfter))
      default:
        throw ControlError(
          "unknown rule \"\(rule)\": good, unregistered, expired, bad, forTopic, throttled or fixed")
      }
    }
  }
}

extension Answer {
  /// From a command: a status from 200 to 599 and a reason of letters.
  init(checkedStatus status: Int?, _ reason: String?, retryAfter: Int?) throws(ControlError) {
    guard let status, (200...599).contains(status) else { throw ControlError("\"status\" is to be 200 to 599") }
    guard reason?.utf8.allSatisfy({ $0 | 0x20 >= UInt8(ascii: "a") && $0 | 0x20 <= UInt8(ascii: "z") }) != false else {
      throw ControlError("\"reason\" is to be letters only")
    }
    guard (0...86_400).contains(retryAfter ?? 0) else {
      throw ControlError("\"retryAfter\" is to be 0 to 86400 seconds")
    }
    self.init(status, reason ?? Answer.usualReason(status), retryAfter: retryAfter)
  }

  private static func usualReason(_ status: Int) -> String? {
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
}
