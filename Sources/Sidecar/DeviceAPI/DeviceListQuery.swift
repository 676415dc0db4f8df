/// What `GET /devices` is asked: whose devices, how many, and from where on.
struct DeviceListQuery: Equatable {
  private static let limits = 1...100
  private static let defaultLimit = 10

  let userID: String
  let limit: Int
  /// The last device of the page before.
  let after: String?

  /// Reads the items of a query; `limit` and `nextToken` may be missing or empty.
  init(_ items: [(name: String, value: String)]) throws(Refusal) {
    userID = try RequestFields.userID(try DeviceListQuery.single("userId", of: items))
    limit = try DeviceListQuery.limit(try DeviceListQuery.single("limit", of: items))
    after = try DeviceListQuery.position(try DeviceListQuery.single("nextToken", of: items), userID)
  }

  private static func single(_ name: String, of items: [(name: String, value: String)]) throws(Refusal) -> String? {
    let values = items.filter { $0.name == name }.map(\.value)
    guard values.count < 2 else { throw Refusal(400, "Invalid \(name)", "\(name): given twice") }
    return values.first.flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func limit(_ text: String?) throws(Refusal) -> Int {
    guard let text else { return defaultLimit }
    let isNumber = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard isNumber, let limit = Int(text), limits.contains(limit) else {
      throw Refusal(
        400, "Invalid limit", "limit: expected a whole number from \(limits.lowerBound) to \(limits.upperBound)")
    }
    return limit
  }

  private static func position(_ text: String?, _ userID: String) throws(Refusal) -> String? {
    guard let text else { return nil }
    guard let token = DevicePageToken(parsing: text, userID: userID) else {
      throw Refusal(400, "Invalid nextToken", "nextToken: expected the one of this user's last page, unchanged")
    }
    return token.deviceToken
  }
}
