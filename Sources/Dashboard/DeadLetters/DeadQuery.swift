import Operations
import Queue

/// The filter in the address of the page of dead letters.
struct DeadQuery: Sendable {
  /// How long ago a job was given up.
  enum Age: String, CaseIterable, Sendable {
    case lastHour = "1h"
    case lastDay = "1d"
    case beforeLastDay = "over-1d"
    case beforeLastWeek = "over-7d"

    private static let hour: Int64 = 3_600_000
    private static let day = 24 * hour

    var title: String {
      switch self {
      case .lastHour: "in the last hour"
      case .lastDay: "in the last 24 hours"
      case .beforeLastDay: "more than a day ago"
      case .beforeLastWeek: "more than 7 days ago"
      }
    }

    /// The first and the last time, in unix ms.
    func range(now: Int64) -> (since: Int64?, until: Int64?) {
      switch self {
      case .lastHour: (now - Age.hour, nil)
      case .lastDay: (now - Age.day, nil)
      case .beforeLastDay: (nil, now - Age.day)
      case .beforeLastWeek: (nil, now - 7 * Age.day)
      }
    }
  }

  private static let maximumText = 200

  let queues: [String]
  let filter: DeadLetterFilter
  let age: Age?

  /// Throws 400 for values that the page's form does not have.
  init(_ request: PageRequest, queues: [String]) throws(PageError) {
    self.queues = queues
    age = try request.query("age").map { (text) throws(PageError) in
      guard let age = Age(rawValue: text) else { throw .badRequest("There is no such choice of age.") }
      return age
    }
    let range = age?.range(now: request.now)
    filter = DeadLetterFilter(
      reason: request.query("reason").map { String($0.prefix(DeadQuery.maximumText)) },
      app: request.query("app").map { String($0.prefix(DeadQuery.maximumText)) }, since: range?.since,
      until: range?.until)
  }

  /// `whose reason contains “Bad”, of the app com.example, given up in the last hour`; nil without a filter.
  var description: String? {
    let parts = [
      filter.reason.map { "whose reason contains “\($0)”" }, filter.app.map { "of the app \($0)" },
      age.map { "given up \($0.title)" },
    ].compactMap { $0 }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }
}

extension DeadLetterFilter {
  /// `reason contains “Bad”, app com.example, given up until 2026-12-24 18:00:00 UTC`, for the audit log.
  var description: String {
    [
      reason.map { "reason contains “\($0)”" }, app.map { "app \($0)" },
      since.map { "given up since \(TimeText.exact($0))" }, until.map { "given up until \(TimeText.exact($0))" },
    ].compactMap { $0 }.joined(separator: ", ")
  }
}
