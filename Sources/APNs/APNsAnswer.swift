import JSON
import PushModel

/// APNs' answer to one push.
public struct APNsAnswer: Sendable, Equatable {
  /// HTTP status, 200...599; 0 for a push that was not sent because it is invalid.
  public let status: Int
  /// Apple's reason; `HTTP_<status>` for a refusal without one; nil for an acceptance.
  public let reason: String?
  /// When the token became invalid, in unix milliseconds; only with 410.
  public let timestamp: Int64?
  /// `apns-unique-id`, by which Apple's Push Notifications Console finds the push. Only the sandbox sends it.
  public let apnsUniqueID: String?
  /// Seconds, from a `Retry-After` header in its numeric form.
  public let retryAfterSeconds: Int?
  /// What it asks for: at first by itself, then by what the client knows of the others of its route and connection.
  public internal(set) var meaning: AnswerMeaning

  public init(
    status: Int, reason: String? = nil, timestamp: Int64? = nil, apnsUniqueID: String? = nil,
    retryAfterSeconds: Int? = nil
  ) {
    self.status = status
    self.reason = reason
    self.timestamp = timestamp
    self.apnsUniqueID = apnsUniqueID
    self.retryAfterSeconds = retryAfterSeconds
    meaning = AnswerMeaning(status: status, reason: reason, timestamp: timestamp, retryAfter: retryAfterSeconds)
  }

  /// What becomes of an invalid push, which is not sent: `reason` is the one that APNs has for it, or Martlet's own.
  init(unsent reason: String) {
    self.init(status: 0, reason: reason)
    meaning = PushReason.of(reason).isOfToken || reason == PushReason.notAnAPNsToken ? .failed : .badJob
  }

  /// Whether APNs has said it: not of a push that was never sent.
  public var isOfAPNs: Bool { status != 0 }

  /// Comparing meanings would compare what they carry.
  public var isAccepted: Bool { if case .accepted = meaning { true } else { false } }

  static let accepted = APNsAnswer(status: 200)

  /// Makes an answer from the parts of a response. `body` may hold anything.
  init(status: Int, body: [UInt8], apnsUniqueID: String?, retryAfterSeconds: Int?) {
    guard !(200..<300).contains(status) else {
      self.init(status: status, apnsUniqueID: apnsUniqueID)
      return
    }
    let refusal = RefusalBody(body)
    self.init(
      status: status, reason: refusal.reason ?? "HTTP_\(status)", timestamp: refusal.timestamp,
      apnsUniqueID: apnsUniqueID, retryAfterSeconds: retryAfterSeconds)
  }
}

/// The two members of a refusal's body: `{"reason":"Unregistered","timestamp":1700000000000}`.
///
/// A member that is missing or malformed is nil: a proxy's HTML page is a refusal without a reason.
struct RefusalBody {
  /// Longer reasons are truncated, because they are stored in records and metrics.
  static let maximumReasonCharacters = 100

  private(set) var reason: String?
  /// Unix milliseconds.
  private(set) var timestamp: Int64?

  init(_ bytes: [UInt8]) {
    if let value = RefusalBody.value(of: "reason", in: bytes), value.first == UInt8(ascii: "\"") {
      let text = value.dropFirst().prefix { $0 != UInt8(ascii: "\"") && (0x20..<0x7F).contains($0) }
      let kept = text.prefix(RefusalBody.maximumReasonCharacters)
      if !kept.isEmpty { reason = String(decoding: kept, as: UTF8.self) }
    }
    if let value = RefusalBody.value(of: "timestamp", in: bytes) {
      let isNegative = value.first == UInt8(ascii: "-")
      let digits = value.dropFirst(isNegative ? 1 : 0).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      timestamp = String(decoding: digits, as: UTF8.self).integer(in: 0...Int64.max).map {
        isNegative ? -$0 : Timestamp.milliseconds(of: $0)
      }
    }
  }

  /// Returns everything from the start of the member's value on.
  private static func value(of name: StaticString, in bytes: [UInt8]) -> ArraySlice<UInt8>? {
    let key = "\"\(name)\"".utf8
    guard bytes.count > key.count else { return nil }
    for start in 0..<(bytes.count - key.count) where bytes[start...].starts(with: key) {
      let rest = bytes[(start + key.count)...].drop(while: isSpace)
      guard rest.first == UInt8(ascii: ":") else { continue }
      return rest.dropFirst().drop(while: isSpace)
    }
    return nil
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }
}
