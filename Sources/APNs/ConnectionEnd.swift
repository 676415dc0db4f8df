import CNGHTTP2
import Telemetry

/// Why a connection to APNs ended.
enum ConnectionEnd: Equatable {
  /// The server announced it. `text` is the reason of its data, or the beginning of the data; empty without.
  case goaway(code: UInt32, text: String)
  /// Closed or broken without a GOAWAY.
  case lost(String)
  /// What was received is not HTTP/2.
  case invalid(String)
  case noSettings
  case noPong
  /// No answer during the whole lifetime of a push, or to the first one.
  case noAnswer
  /// An answer with this reason asked for another connection.
  case answered(String)
  case keyChanged
  case topicsAdded
  /// It refused pushes for reasons that may be its own.
  case refused(String)
  /// Another connection has taken its place.
  case notNeeded
  case streamsUsedUp
  /// ``APNsClient/mayWrite`` forbids to write what has begun.
  case writingForbidden
  /// Not needed any more.
  case closed

  /// Longer data of a GOAWAY is cut.
  private static let maximumCharacters = 200

  /// `data` is that of the GOAWAY, which may hold anything.
  init(goaway code: UInt32, data: [UInt8]) {
    let plain = data.lazy.map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: "?") }
    self = .goaway(
      code: code,
      text: RefusalBody(data).reason ?? String(decoding: plain.prefix(ConnectionEnd.maximumCharacters), as: UTF8.self))
  }

  /// The value of metrics' label and of `martlet status`: one of few, as texts of GOAWAYs come from outside.
  var reason: String {
    switch self {
    case .goaway(_, let text) where ConnectionEnd.reasons.contains(text): text
    case .goaway(let code, _): ConnectionEnd.codes[code] ?? "other"
    case .lost: "no_goaway"
    case .invalid: "invalid_http2"
    case .noSettings: "no_settings"
    case .noPong: "no_pong"
    case .noAnswer: "no_answer"
    case .answered(let reason): ConnectionEnd.reasons.contains(reason) ? reason : "other"
    case .keyChanged: "key_changed"
    case .topicsAdded: "topics_added"
    case .refused(let reason): ConnectionEnd.reasons.contains(reason) ? reason : "refused"
    case .notNeeded: "not_needed"
    case .streamsUsedUp: "streams_used_up"
    case .writingForbidden: "lease_in_doubt"
    case .closed: "closed"
    }
  }

  /// For the log, and for pushes that end with the connection.
  var text: String {
    switch self {
    case .goaway(let code, let text): "GOAWAY \(code)" + (text.isEmpty ? "" : ": \(text)")
    case .lost(let text), .invalid(let text): text
    case .noSettings: "the server sent no HTTP/2 SETTINGS"
    case .noPong: "the server no longer answers PING"
    case .noAnswer: "the server no longer answers pushes"
    case .answered(let reason): reason
    case .keyChanged: "another key signs"
    case .topicsAdded: "bundle ids were added"
    case .refused(let reason): "it refused pushes: \(reason)"
    case .notNeeded: "another connection has taken its place"
    case .streamsUsedUp: "no more streams can be opened"
    case .writingForbidden: ConnectionPool.writingForbidden
    case .closed: "ShuttingDown"
    }
  }

  var level: LogLevel {
    switch self {
    case .keyChanged, .topicsAdded, .notNeeded, .streamsUsedUp, .writingForbidden, .closed: .debug
    case .answered: .info
    case .goaway: ConnectionEnd.ordinary.contains(reason) ? .info : .warn
    case .lost, .invalid, .noSettings, .noPong, .noAnswer, .refused: .warn
    }
  }

  /// Whether it says something about the gateway, and not about this process.
  var isOfGateway: Bool { level != .debug }

  /// Whether this says more than `other` about the end of one connection. A GOAWAY may be followed by one with its reason, or
  /// by the end of the socket.
  func says(moreThan other: ConnectionEnd) -> Bool {
    switch (self, other) {
    case (.goaway(let code, let text), .goaway): code != 0 || !text.isEmpty
    case (.goaway, .lost): true
    default: false
    }
  }

  private static let ordinary: Set = ["Shutdown", "IdleTimeout", "NO_ERROR"]

  /// APNs' reasons that are about a connection, its key or the gateway.
  private static let reasons: Set = [
    "BadCertificate", "BadCertificateEnvironment", "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken",
    "ExpiredProviderToken", "Forbidden", "IdleTimeout", "InternalServerError", "InvalidProviderToken",
    "MissingProviderToken", "ServiceUnavailable", "Shutdown", "TooManyProviderTokenUpdates", "TopicDisallowed",
    "UnrelatedKeyIdInToken",
  ]

  /// The names of HTTP/2's error codes (RFC 9113, section 7).
  private static let codes = Dictionary(
    uniqueKeysWithValues: (0...NGHTTP2_HTTP_1_1_REQUIRED.rawValue).map {
      ($0, String(cString: nghttp2_http2_strerror($0)))
    })
}
