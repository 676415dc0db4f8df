import JSON

extension LiveActivity {
  /// Unix seconds from 2017 to 2049. Taken for seconds since 2001, as Swift decodes a `Date`, they are in 2048 or later.
  private static let recentSeconds = 1_500_000_000.0...2_500_000_000.0
  /// The same in milliseconds.
  private static let recentMilliseconds = recentSeconds.lowerBound * 1000...recentSeconds.upperBound * 1000

  /// What to look at before the job is sent; nil if nothing was noticed. A number of `contentState` that looks like a Unix time is
  /// the most common fault of a Live Activity: it is valid, and the date is 31 years late.
  public var hint: String? {
    guard let contentState, let value = try? JSONValue(parsing: contentState) else { return nil }
    return LiveActivity.hint(of: value)
  }

  /// As ``hint``, of the payload that is sent.
  public static func hint(ofPayload bytes: [UInt8]) -> String? {
    guard let payload = try? JSONValue(parsing: bytes), let state = payload["aps"]?["content-state"] else { return nil }
    return hint(of: state)
  }

  private static func hint(of state: JSONValue) -> String? {
    guard let path = unixTime(in: state, "contentState") else { return nil }
    return
      "\(path) looks like a Unix time. If it is a Date in the app, subtract 978307200: Swift decodes a Date as seconds "
      + "since 2001-01-01."
  }

  /// The path of the first number that looks like a Unix time.
  private static func unixTime(in value: JSONValue, _ path: String) -> String? {
    switch value {
    case .integer, .number:
      let isRecent = value.number(in: recentSeconds) != nil || value.number(in: recentMilliseconds) != nil
      return isRecent ? path : nil
    case .array(let elements):
      for (place, element) in elements.enumerated() {
        if let found = unixTime(in: element, "\(path)[\(place)]") { return found }
      }
      return nil
    case .object(let members):
      for member in members {
        if let found = unixTime(in: member.value, "\(path).\(member.key)") { return found }
      }
      return nil
    case .null, .bool, .string: return nil
    }
  }
}
