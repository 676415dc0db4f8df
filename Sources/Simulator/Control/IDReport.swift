/// `GET /ledger/id/<apns-id>`.
struct IDReport: Codable, Equatable {
  let id: String
  let count: Int
  /// Of the first arrival, unix nanoseconds.
  let arrival: UInt64?
}
