package import JSON

/// Parses a list of objects that arrives in chunks: an array, `{"results":[…]}`, or one object per line. The second form may be
/// there several times, as the pages of a listing.
package struct ObjectListReader: BackupSource {
  /// What the objects are.
  package struct Form: Sendable {
    /// The quoted name of the member that has the array.
    let wrapper: StaticString
    /// Names of the list and of an object, for faults.
    let (list, element): (String, String)
    let entries: @Sendable (JSONValue) -> [BackupEntry]

    /// - Parameters:
    ///   - list: names the list in a fault, `a list of endpoints`.
    ///   - element: names an object in a fault, `an endpoint`.
    ///   - entries: reads an object.
    package init(
      wrapper: StaticString, list: String, element: String, entries: @escaping @Sendable (JSONValue) -> [BackupEntry]
    ) {
      self.wrapper = wrapper
      (self.list, self.element) = (list, element)
      self.entries = entries
    }
  }

  /// The maximum size of one object, which includes everything that an app stored there.
  private static let maximumBytes = 256 * 1024
  /// The member of a listing that goes on.
  private static let continuation = "NextToken"

  private enum Place: Equatable {
    case start
    /// An element of an array, inside an object if `isWrapped`.
    case element(isFirst: Bool, isWrapped: Bool)
    case afterElement(isWrapped: Bool)
    /// Behind the array.
    case wrapperEnd
    case memberKey
    case memberColon
    case memberValue
    case nextPage
    case line
    case end
  }

  private let form: Form
  private var place = Place.start
  /// The other entries of the last object, in reverse.
  private var pending: [BackupEntry] = []
  private var key = ""
  /// Whether the listing goes on behind the last page.
  private var isContinued = false
  package private(set) var line = 1

  package init(_ form: Form) {
    self.form = form
  }

  package mutating func next(in window: inout JSONWindow) throws(JSONWindow.Fault) -> BackupEntry? {
    if let entry = pending.popLast() { return entry }
    while let byte = window.peek() {
      switch place {
      case .element(true, let isWrapped) where byte == UInt8(ascii: "]"):
        window.take()
        place = isWrapped ? .wrapperEnd : .end
      case .element, .line:
        line = window.line
        guard let record = try window.record(form.element, maximumBytes: Self.maximumBytes) else { return nil }
        if case .element(_, let isWrapped) = place { place = .afterElement(isWrapped: isWrapped) }
        pending = entries(record).reversed()
        if let entry = pending.popLast() { return entry }
      default:
        guard let next = try step(byte, in: &window) else { return nil }
        place = next
      }
    }
    return nil
  }

  package var mayEnd: Bool {
    switch place {
    case .end, .line: true
    case .nextPage: !isContinued
    default: false
    }
  }

  private func entries(_ record: BackupRecord) -> [BackupEntry] {
    switch record {
    case .object(let object): form.entries(object)
    case .ambiguous: [.refused(.malformedRecord)]
    }
  }

  private mutating func step(_ byte: UInt8, in window: inout JSONWindow) throws(JSONWindow.Fault) -> Place? {
    switch place {
    case .start where byte == UInt8(ascii: "{"), .nextPage where byte == UInt8(ascii: "{"):
      let other: Place? = place == .start ? .line : nil
      guard let isWrapped = window.take(["{", form.wrapper, ":", "["], maximumBytes: Self.maximumBytes) else {
        return nil
      }
      guard let next = isWrapped ? .element(isFirst: true, isWrapped: true) : other else {
        throw window.unexpected("{\(form.wrapper):[")
      }
      isContinued = false
      return next
    case .start: return try mark("[", in: &window).map { _ in .element(isFirst: true, isWrapped: false) }
    case .afterElement(let isWrapped):
      return try mark(",]", in: &window).map {
        if $0 == UInt8(ascii: ",") { return .element(isFirst: false, isWrapped: isWrapped) }
        return isWrapped ? .wrapperEnd : .end
      }
    case .wrapperEnd:
      return try mark("},", in: &window).map { $0 == UInt8(ascii: ",") ? .memberKey : .nextPage }
    case .memberKey:
      guard let key = try window.key(expectation) else { return nil }
      self.key = key
      return .memberColon
    case .memberColon: return try mark(":", in: &window).map { _ in .memberValue }
    case .memberValue: return try skipValue(byte, in: &window).map { _ in .wrapperEnd }
    case .element, .line, .nextPage, .end: throw window.unexpected(expectation)
    }
  }

  /// Returns nil if more bytes are needed.
  private mutating func skipValue(_ byte: UInt8, in window: inout JSONWindow) throws(JSONWindow.Fault) -> Void? {
    switch byte {
    case UInt8(ascii: "n"):
      guard let isNull = window.take(["null"], maximumBytes: 4) else { return nil }
      guard isNull else { throw window.unexpected(expectation) }
    case UInt8(ascii: "{"):
      guard try window.object(expectation, maximumBytes: Self.maximumBytes) != nil else { return nil }
    default:
      guard try window.string(expectation, maximumBytes: Self.maximumBytes) != nil else { return nil }
      if key == Self.continuation { isContinued = true }
    }
    return ()
  }

  package var expectation: String {
    switch place {
    case .start: "\(form.list): [, {\(form.wrapper):[, or an object per line"
    case .element, .line: "\(form.element): {"
    case .afterElement: "a comma or ]"
    case .wrapperEnd: "}"
    case .memberKey: "the name of a member, in quotes"
    case .memberColon: "a colon"
    case .memberValue: "a string, an object or null"
    case .nextPage where isContinued: "the next page of the list, as the last one has a \(Self.continuation)"
    case .nextPage, .end: "nothing after the last \(form.element.drop { $0 != " " }.dropFirst())"
    }
  }
}
