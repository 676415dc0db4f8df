package import JSON

/// Parses a backup file that arrives in chunks: `{"app":{"token":{…}}}`, `{"app":[{"token":{…}},…]}`, or the older notation of
/// the push server, which is not JSON: `{"app":["token":{…},…]}`.
package struct BackupReader: BackupSource {
  /// The value that contains a token and its record.
  private enum Container: Equatable {
    case object
    case array
    /// An object in an array.
    case element
  }

  private enum Place: Equatable {
    case start
    case app(isFirst: Bool)
    case appColon
    case container
    case token(isFirst: Bool, Container)
    case tokenColon(Container)
    case record(Container)
    case afterRecord(Container)
    case afterApp
    case end
  }

  private enum Section: Equatable {
    case app(String)
    case instances
    case channels
    /// A section of a later version, which is skipped.
    case unknown

    init(_ key: String) {
      switch key {
      case BackupFormat.instances: self = .instances
      case BackupFormat.channels: self = .channels
      default: self = key.hasPrefix(BackupFormat.reserved) ? .unknown : .app(key)
      }
    }
  }

  private var place = Place.start
  private var section = Section.unknown
  private var token = ""
  package private(set) var line = 1

  package init() {}

  package mutating func next(in window: inout JSONWindow) throws(JSONWindow.Fault) -> BackupEntry? {
    while window.peek() != nil {
      if case .record(let container) = place {
        line = window.line
        guard let record = try window.record("the record of a token", maximumBytes: BackupFormat.maximumRecordBytes)
        else { return nil }
        place = .afterRecord(container)
        if let entry = entry(record) { return entry }
      } else {
        guard let next = try step(in: &window) else { return nil }
        place = next
      }
    }
    return nil
  }

  package var mayEnd: Bool { place == .end }

  private func entry(_ record: BackupRecord) -> BackupEntry? {
    switch (section, record) {
    case (.unknown, _): nil
    case (_, .ambiguous): .refused(.malformedRecord)
    case (.app(let app), .object(let object)): BackupEntry(app: app, token: token, record: object)
    case (.instances, .object(let object)): BackupEntry(instance: token, record: object)
    case (.channels, .object(let object)): BackupEntry(channel: token, record: object)
    }
  }

  /// Takes the next character or key and returns the place behind it, or nil if more bytes are needed.
  private mutating func step(in window: inout JSONWindow) throws(JSONWindow.Fault) -> Place? {
    switch place {
    case .start: return try mark("{", in: &window).map { _ in .app(isFirst: true) }
    case .app(let isFirst):
      if isFirst, window.peek() == UInt8(ascii: "}") { return try mark("}", in: &window).map { _ in .end } }
      guard let key = try window.key(expectation) else { return nil }
      section = Section(key)
      return .appColon
    case .appColon: return try mark(":", in: &window).map { _ in .container }
    case .container:
      return try mark("{[", in: &window).map { .token(isFirst: true, $0 == UInt8(ascii: "{") ? .object : .array) }
    case .token(let isFirst, let container): return try stepToToken(isFirst, container, in: &window)
    case .tokenColon(let container): return try mark(":", in: &window).map { _ in .record(container) }
    case .afterRecord(let container):
      return try mark(container == .array ? ",]" : ",}", in: &window).map {
        $0 == UInt8(ascii: ",") ? .token(isFirst: false, container) : BackupReader.end(of: container)
      }
    case .afterApp: return try mark(",}", in: &window).map { $0 == UInt8(ascii: ",") ? .app(isFirst: false) : .end }
    case .record, .end: throw window.unexpected(expectation)
    }
  }

  private mutating func stepToToken(
    _ isFirst: Bool, _ container: Container, in window: inout JSONWindow
  ) throws(JSONWindow.Fault) -> Place? {
    let closing = container == .array ? "]" : "}"
    if isFirst, let byte = window.peek(), closing.utf8.contains(byte) {
      window.take()
      return BackupReader.end(of: container)
    }
    if container == .array, window.peek() == UInt8(ascii: "{") {
      window.take()
      return .token(isFirst: true, .element)
    }
    guard let key = try window.key(expectation) else { return nil }
    token = key
    return .tokenColon(container)
  }

  private static func end(of container: Container) -> Place {
    container == .element ? .afterRecord(.array) : .afterApp
  }

  package var expectation: String {
    switch place {
    case .start: "{ at the start of a backup file"
    case .app: "the bundle id of an app, in quotes"
    case .appColon, .tokenColon: "a colon"
    case .container: "{ or [ after the bundle id"
    case .token(_, .array): "a token in quotes, or {"
    case .token: "a token in quotes"
    case .record: "the record of a token: {"
    case .afterRecord(.array): "a comma or ]"
    case .afterRecord, .afterApp: "a comma or }"
    case .end: "nothing after the last }"
    }
  }
}
