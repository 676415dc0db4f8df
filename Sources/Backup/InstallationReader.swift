package import JSON

/// Parses an export of Parse's `_Installation` that arrives in chunks: an array, `{"results":[…]}`, or one object per line.
package struct InstallationReader: BackupSource {
  /// The maximum size of one installation, which includes everything the app stored there.
  private static let maximumBytes = 256 * 1024

  private enum Place: Equatable {
    case start
    /// An element of an array, inside `{"results":` if `isWrapped`.
    case element(isFirst: Bool, isWrapped: Bool)
    case afterElement(isWrapped: Bool)
    case wrapperEnd
    case line
    case end
  }

  private let bundleIDs: Set<String>
  private var place = Place.start

  /// Accepts the devices of these apps only.
  package init(bundleIDs: Set<String>) {
    self.bundleIDs = bundleIDs
  }

  package mutating func next(in window: inout JSONWindow) throws(JSONWindow.Fault) -> BackupEntry? {
    while let byte = window.peek() {
      switch place {
      case .element(true, let isWrapped) where byte == UInt8(ascii: "]"):
        window.take()
        place = isWrapped ? .wrapperEnd : .end
      case .element(_, let isWrapped):
        guard let record = try record(in: &window) else { return nil }
        place = .afterElement(isWrapped: isWrapped)
        return entry(record)
      case .line: return try record(in: &window).map(entry)
      default:
        guard let next = try step(byte, in: &window) else { return nil }
        place = next
      }
    }
    return nil
  }

  package var mayEnd: Bool { place == .end || place == .line }

  private func record(in window: inout JSONWindow) throws(JSONWindow.Fault) -> BackupRecord? {
    try window.record("an installation", maximumBytes: InstallationReader.maximumBytes)
  }

  private func entry(_ record: BackupRecord) -> BackupEntry {
    switch record {
    case .object(let object): BackupEntry(installation: object, of: bundleIDs)
    case .ambiguous: .refused(.malformedRecord)
    }
  }

  private func step(_ byte: UInt8, in window: inout JSONWindow) throws(JSONWindow.Fault) -> Place? {
    switch place {
    case .start where byte == UInt8(ascii: "{"):
      return window.take(["{", "\"results\"", ":", "["], maximumBytes: InstallationReader.maximumBytes).map {
        $0 ? .element(isFirst: true, isWrapped: true) : .line
      }
    case .start: return try mark("[", in: &window).map { _ in .element(isFirst: true, isWrapped: false) }
    case .afterElement(let isWrapped):
      return try mark(",]", in: &window).map {
        if $0 == UInt8(ascii: ",") { return .element(isFirst: false, isWrapped: isWrapped) }
        return isWrapped ? .wrapperEnd : .end
      }
    case .wrapperEnd: return try mark("}", in: &window).map { _ in .end }
    case .element, .line, .end: throw window.unexpected(expectation)
    }
  }

  package var expectation: String {
    switch place {
    case .start: "an export of _Installation: [, {\"results\":[, or an object per line"
    case .element, .line: "an installation: {"
    case .afterElement: "a comma or ]"
    case .wrapperEnd: "}"
    case .end: "nothing after the last installation"
    }
  }
}
