package import JSON
package import PushModel

/// Reads the JSON of a job. It knows the field that it reads, and reports every fault as a ``JobError``.
package struct JobReader {
  private var json: JSONReader

  /// The field being read, for errors: `title`, `to.token`.
  package var field = ""

  package init(_ bytes: [UInt8]) {
    json = JSONReader(bytes)
  }

  package func error(_ what: String) -> JobError {
    JobError(reason: field.isEmpty ? what : "\(field): \(what)")
  }

  package mutating func kind() throws(JobError) -> JSONKind {
    do { return try json.peek() } catch { throw fault(error) }
  }

  package mutating func beginObject() throws(JobError) {
    do { try json.beginObject() } catch { throw fault(error) }
  }

  package mutating func beginArray() throws(JobError) {
    do { try json.beginArray() } catch { throw fault(error) }
  }

  package mutating func nextElement() throws(JobError) -> Bool {
    do { return try json.nextElement() } catch { throw fault(error) }
  }

  package mutating func end() throws(JobError) {
    do { try json.end() } catch { throw fault(error) }
  }

  /// The number of the next key; nil at the end of the object. `seen` has a bit for each key. A key whose value is null counts as
  /// absent, unless the keys are those of `to`.
  package mutating func nextKey(among keys: FieldNames, seen: inout UInt64) throws(JobError) -> Int? {
    while true {
      let key: JSONKey?
      do { key = try json.nextKey(among: keys.keys) } catch { throw fault(error) }
      switch key {
      case nil:
        return nil
      case .unknown(let name):
        field = ""
        throw error(keys.unknown(name))
      case .known(let number):
        let bit: UInt64 = 1 << UInt64(number)
        field = keys.paths[number]
        guard seen & bit == 0 else { throw error("duplicate key") }
        seen |= bit
        do {
          guard keys.nullIsAbsent, try json.nextIsNull() else { return number }
          try json.readNull()
        } catch { throw fault(error) }
      }
    }
  }

  /// Whether a part of the payload has a null.
  package var hasNullInPayload: Bool { json.skippedNull }

  /// The next key of an object with any keys; nil at its end.
  package mutating func anyKey() throws(JobError) -> String? {
    do { return try json.nextKey() } catch { throw fault(error) }
  }

  /// The same for an object most of whose keys are known.
  package mutating func anyKey(among keys: JSONKeys) throws(JobError) -> JSONKey? {
    do { return try json.nextKey(among: keys) } catch { throw fault(error) }
  }

  /// The text of the next value, unchanged.
  package mutating func text() throws(JobError) -> [UInt8] {
    do { return Array(json.bytes[try json.skipValue()]) } catch { throw fault(error) }
  }

  package mutating func skip() throws(JobError) {
    do { try json.skipValue() } catch { throw fault(error) }
  }

  /// Reads a string, and throws if it is another one.
  package mutating func expect(_ expected: String, as field: String) throws(JobError) {
    self.field = field
    guard try string() == expected else { throw error("expected \(expected)") }
  }

  /// Any string without NUL.
  package mutating func string() throws(JobError) -> String {
    let string: String
    do { string = try json.readString() } catch { throw fault(error) }
    guard !json.hadEscapes || !string.utf8.contains(0) else { throw error("must not contain NUL") }
    return string
  }

  /// A string whose number of Unicode scalars is in `length`.
  package mutating func string(of length: ClosedRange<Int>) throws(JobError) -> String {
    let string = try string()
    // A scalar is 1 to 4 bytes, so most strings need not be counted.
    let bytes = string.utf8.count
    guard bytes < length.lowerBound * 4 || bytes > length.upperBound else { return string }
    guard length.contains(string.unicodeScalars.count) else {
      throw error("expected \(length.lowerBound) to \(length.upperBound) characters")
    }
    return string
  }

  /// A token of APNs in whichever form. Any other well-formed text is taken as it is: a device may be registered as it, to which
  /// nothing is sent.
  package mutating func token() throws(JobError) -> DeviceToken {
    let text = try string()
    do throws(TokenFault) {
      return try DeviceToken(apns: text)
    } catch let fault {
      guard Charset.token.accepts(text) else { throw error(fault.rawValue) }
      return DeviceToken(text)
    }
  }

  package mutating func integer(in range: ClosedRange<Int64>) throws(JobError) -> Int64 {
    let integer: Int64
    do { integer = try json.readInt64() } catch { throw fault(error) }
    guard range.contains(integer) else {
      throw error("expected an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return integer
  }

  package mutating func unixSeconds() throws(JobError) -> Int64 {
    let time = try integer(in: 0...Timestamp.maximum)
    guard time <= Timestamp.firstMilliseconds else {
      throw error("looks like unix milliseconds; give unix seconds, \(time / 1000)")
    }
    return time
  }

  package mutating func unixMilliseconds() throws(JobError) -> Int64 {
    let time = try integer(in: 0...Timestamp.maximum)
    guard time >= Timestamp.firstMilliseconds else {
      throw error("looks like unix seconds; give unix milliseconds, \(time * 1000)")
    }
    return time
  }

  package mutating func number() throws(JobError) -> Double {
    do { return try json.readDouble() } catch { throw fault(error) }
  }

  package mutating func bool() throws(JobError) -> Bool {
    do { return try json.readBool() } catch { throw fault(error) }
  }

  /// The text of an object, unchanged. Throws if a key of its top level occurs twice or is `forbidden`.
  package mutating func object(without forbidden: String? = nil) throws(JobError) -> [UInt8] {
    do throws(JSONError) {
      try json.beginObject()
      let first = json.start
      var seen = JSONSeenKeys()
      while let key = try json.nextKey() {
        if key == forbidden { throw JSONError.duplicateKey(key, offset: json.start) }
        guard seen.insert(key) else { throw JSONError.duplicateKey(key, offset: json.start) }
        try json.skipValue()
      }
      return Array(json.bytes[first..<json.offset])
    } catch {
      guard case .duplicateKey(let key, _) = error else { throw fault(error) }
      throw self.error(
        key == forbidden ? "must not contain the key \"\(key)\"" : "duplicate key \(Spelling.quoted(key))")
    }
  }

  /// Why a text that begins like a value other than an object is not JSON; nil if it is.
  private var textFault: JSONError? {
    guard field.isEmpty else { return nil }
    var rest = json
    do {
      try rest.skipValue()
    } catch {
      guard case .unexpectedByte = error else { return nil }
      return error
    }
    return nil
  }

  private func fault(_ fault: JSONError) -> JobError {
    switch fault {
    case .mismatch(let expected, let found, _):
      textFault.map { JobError(reason: "not JSON: \($0)") } ?? error("expected \(expected), found \(found)")
    case .numberOutOfRange: error("number out of range")
    default: JobError(reason: "not JSON: \(fault)")
    }
  }
}

extension JobReader {
  package mutating func identifier(_ charset: Charset) throws(JobError) -> String {
    let text = try string()
    guard charset.accepts(text) else { throw error("expected \(charset.description)") }
    return text
  }

  /// One of the raw values of `type`.
  package mutating func choice<Choice: CaseIterable & RawRepresentable<String>>(
    of type: Choice.Type
  ) throws(JobError) -> Choice {
    let name = try string()
    guard let choice = Choice(rawValue: name) else {
      throw error("expected one of \(type.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return choice
  }

  package mutating func instance() throws(JobError) -> String {
    let id = try identifier(Charset.id)
    // The key of its record would be that of the notification records of another instance.
    guard !id.utf8.reversed().starts(with: JobReader.notificationsSuffix) else {
      throw error("must not end in :notifications")
    }
    return id
  }

  private static let notificationsSuffix = Array(":notifications".utf8.reversed())

  package mutating func username() throws(JobError) -> Username {
    let name = try string(of: Username.length)
    guard let username = Username.validated(name) else {
      throw error("expected a username, not blank, without control characters")
    }
    return username
  }
}

/// The keys of one of a job's objects, and how errors name them.
package struct FieldNames: Sendable {
  package let keys: JSONKeys
  /// `to.`; empty for the job itself.
  package let parent: String
  /// `to.user`, in the order of the keys.
  package let paths: [String]
  package let nullIsAbsent: Bool
  /// Which field to use, by the names that other senders have for it.
  private let foreign: [String: String]

  package init(_ names: [String], in parent: String, nullIsAbsent: Bool = true, foreign: [String: String] = [:]) {
    keys = JSONKeys(names)
    self.parent = parent
    paths = names.map { parent + $0 }
    self.nullIsAbsent = nullIsAbsent
    self.foreign = foreign
  }

  fileprivate func unknown(_ name: String) -> String {
    guard let field = foreign[name] else { return Spelling.unknownField(name, parent: parent, names: keys.names) }
    return "unknown field \(Spelling.quoted(name, parent: parent)); use \(field)"
  }
}
