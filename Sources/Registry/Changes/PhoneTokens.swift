import Events
import JSON
import PushModel

/// Which tokens of its phone a new token replaces, and what is remembered of them. A phone has one token of each kind, app,
/// environment and activity.
struct PhoneTokens: Sendable {
  /// Those that leave.
  let replaced: [Registry.Member]
  /// The marks of these and of those that they have replaced.
  let marks: ReplacedMarks

  /// - Parameters:
  ///   - joining: the new device.
  ///   - members: the devices of its user.
  ///
  /// A token that was replaced and registers again replaces none: two phones have one id, as after a restored backup.
  init(joining: StoredDevice, among members: [Registry.Member]) {
    let former = members.filter { member in
      member.token != joining.token && member.metadata.map { joining.metadata?.takesPlace(of: $0) ?? false } ?? false
    }
    let known = former.reduce(ReplacedMarks()) { $0.union($1.metadata?.replaced ?? ReplacedMarks()) }
    guard !known.contains(joining.token) else {
      (replaced, marks) = ([], ReplacedMarks([joining.token]))
      return
    }
    replaced = former
    marks = ReplacedMarks(former.sorted { $1.leaves(before: $0) }.map(\.token)).union(known)
  }
}

/// The marks of tokens that a token has replaced, the latest first. A token that has its own mark has come back.
public struct ReplacedMarks: Sendable, Equatable {
  /// Marks: phones with one id that are told from each other.
  static let maximum = 4
  private static let digits = 8

  /// ``digits`` for each token.
  let text: String

  public init(_ tokens: [String] = []) {
    text = tokens.prefix(ReplacedMarks.maximum).map(ReplacedMarks.mark).joined()
  }

  /// What another program has stored may be anything.
  init(stored text: String) {
    self.text = text.prefix(bytes: ReplacedMarks.maximum * ReplacedMarks.digits)
  }

  var isEmpty: Bool { text.isEmpty }

  func contains(_ token: String) -> Bool { !isEmpty && marks.contains(ReplacedMarks.mark(token)) }

  func union(_ other: ReplacedMarks) -> ReplacedMarks {
    let new = other.marks.filter { !marks.contains($0) }
    return ReplacedMarks(stored: (marks + new).joined())
  }

  private var marks: [String] {
    let bytes = Array(text.utf8)
    return stride(from: 0, to: bytes.count, by: ReplacedMarks.digits).map {
      String(decoding: bytes[$0..<min($0 + ReplacedMarks.digits, bytes.count)], as: UTF8.self)
    }
  }

  private static func mark(_ token: String) -> String {
    var hash: UInt32 = 0x811C_9DC5
    for byte in token.utf8 { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
    let text = String(hash, radix: 16)
    return String(repeating: "0", count: digits - text.utf8.count) + text
  }
}

extension RemovalCause {
  /// The phone has registered a new token.
  static let newToken = "Replaced"
}

extension DeviceMetadata {
  /// Whether the former token of the phone is replaced by one with these metadata. An environment that is unknown may be any: a
  /// phone has one build of an app at a time.
  func takesPlace(of former: DeviceMetadata) -> Bool {
    isAtPlace(of: former)
      && (environment == former.environment || environment == nil || former.environment == nil)
  }

  fileprivate func isAtPlace(of other: DeviceMetadata) -> Bool {
    deviceID != nil && deviceID == other.deviceID && username == other.username && !username.isEmpty
      && (bundleID ?? "") == (other.bundleID ?? "") && kind == other.kind && activity == other.activity
  }
}

extension DecidedChange {
  /// The device if its token is new at its phone.
  var newAtPhone: StoredDevice? { change.newAtPhone(over: device) }
}

extension DeviceChange {
  /// The device of a change by which a token is new at its phone; nil for any other, as a registration that repeats one.
  func newAtPhone(over stored: StoredDevice) -> StoredDevice? {
    guard case .written(let metadata) = record, metadata.deviceID != nil, !metadata.username.isEmpty else { return nil }
    if let known = stored.metadata, metadata.isAtPlace(of: known) { return nil }
    return result(from: stored)
  }
}
