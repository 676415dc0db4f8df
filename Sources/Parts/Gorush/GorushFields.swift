import JSON

/// Why a notification is not sent.
struct GorushFault: Error {
  /// Names the field.
  let reason: String
}

/// The fields of a notification, of its `alert` or its `sound`. Null, an empty text and an empty object count as absent.
struct GorushFields {
  enum Kind {
    case text, texts, flag, number, object
    /// Unix seconds, or a small number.
    case count

    fileprivate var description: String {
      switch self {
      case .text: "a string"
      case .texts: "an array of strings"
      case .flag: "true or false"
      case .number: "a number"
      case .object: "an object"
      case .count: "an integer from 0 to \(Kind.counts.upperBound)"
      }
    }

    fileprivate static let counts = 0...Timestamp.maximum
  }

  private static let platforms = ["ios", "android", "huawei"]

  let json: JSONValue

  /// As in gorush's logs.
  var platform: String {
    let number = json["platform"]?.integer(in: 1...Int64(GorushFields.platforms.count))
    return number.map { GorushFields.platforms[Int($0) - 1] } ?? "unknown"
  }

  /// `tokens`, and `to`.
  func tokens() throws(GorushFault) -> [String] {
    guard json.members != nil else { throw GorushFault(reason: "expected an object") }
    let all = try value("tokens", .texts)?.array ?? []
    return try all.compactMap(\.string) + [text("to")].compactMap { $0 }
  }

  func text(_ name: String) throws(GorushFault) -> String? { try value(name, .text)?.string }

  /// Throws if the value is of another kind.
  func value(_ name: String, _ kind: Kind) throws(GorushFault) -> JSONValue? {
    switch (kind, json[name]) {
    case (_, nil), (_, .null), (.text, .string("")), (.object, .object([])), (.texts, .array([])),
      (.flag, .bool(false)):
      return nil
    case (.text, .string), (.object, .object), (.flag, .bool), (.number, .integer), (.number, .number):
      return json[name]
    case (.texts, .array(let all)) where all.allSatisfy({ $0.string != nil }): return json[name]
    case (.count, let value?) where value.integer(in: Kind.counts) != nil: return value
    default: throw GorushFault(reason: "\(name): expected \(kind.description)")
    }
  }

  /// The members with these names, as APNs reads them: true is 1.
  func members(_ kinds: KeyValuePairs<String, Kind>, dashed: Bool = false) throws(GorushFault) -> [JSONMember] {
    var members: [JSONMember] = []
    for (name, kind) in kinds {
      guard let value = try value(name, kind) else { continue }
      let key = dashed ? String(name.map { $0 == "_" ? "-" : $0 }) : name
      members.append(JSONMember(key: key, value: value == .bool(true) ? .integer(1) : value))
    }
    return members
  }
}
