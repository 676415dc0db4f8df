import Crypto
import JSON
import PushModel

/// The query of `GET /devices`.
struct DeviceListQuery: Equatable {
  private static let limits = 1...100
  private static let defaultLimit = 10

  let userID: Username
  let limit: Int
  /// The last device of the previous page.
  let after: DeviceToken?

  /// Reads the items of a query; `limit` and `nextToken` may be missing or empty.
  init(_ items: [(name: String, value: String)]) throws(Refusal) {
    userID = try RequestFields.userID(try DeviceListQuery.single("userId", of: items))
    limit = try DeviceListQuery.limit(try DeviceListQuery.single("limit", of: items))
    after = try DeviceListQuery.position(try DeviceListQuery.single("nextToken", of: items), userID)
  }

  private static func single(_ name: String, of items: [(name: String, value: String)]) throws(Refusal) -> String? {
    let values = items.filter { $0.name == name }.map(\.value)
    guard values.count < 2 else { throw .invalid(name, "Invalid \(name)", "\(name): given twice") }
    return values.first.flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func limit(_ text: String?) throws(Refusal) -> Int {
    guard let text else { return defaultLimit }
    guard let limit = text.integer(in: limits) else {
      throw .invalid(
        "limit", "Invalid limit", "limit: expected a whole number from \(limits.lowerBound) to \(limits.upperBound)")
    }
    return limit
  }

  private static func position(_ text: String?, _ userID: Username) throws(Refusal) -> DeviceToken? {
    guard let text else { return nil }
    guard let token = DevicePageToken(parsing: text, userID: userID) else {
      throw .invalid(
        "nextToken", "Invalid nextToken", "nextToken: expected the one of this user's last page, unchanged")
    }
    return token.deviceToken
  }
}

/// The `nextToken` of a list of devices, which states where the user's next page begins.
struct DevicePageToken: Equatable {
  let userID: Username
  /// The last device of the previous page.
  let deviceToken: DeviceToken

  /// Base64url of `{"deviceToken","userId"}`.
  var text: String {
    let value = JSONValue.object([
      JSONMember(key: "deviceToken", value: .string(deviceToken.text)),
      JSONMember(key: "userId", value: .string(userID.text)),
    ])
    return String(decoding: Base64URL.encode(value.bytes), as: UTF8.self)
  }
}

extension DevicePageToken {
  /// Returns nil unless `text` is the ``text`` of a token for this user.
  init?(parsing text: String, userID: Username) {
    guard let bytes = Base64URL.decode(text.utf8) else { return nil }
    let value: JSONValue
    do { value = try JSONValue(parsing: bytes) } catch { return nil }
    guard let token = value["deviceToken"]?.string, DeviceToken.isWellFormed(token) else { return nil }
    self.init(userID: userID, deviceToken: DeviceToken(verbatim: token))
    guard self.text == text else { return nil }
  }
}
