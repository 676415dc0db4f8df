import JSON

/// How many pushes of a job were refused for one reason.
public struct ReasonCount: Sendable, Equatable {
  public let reason: String
  public internal(set) var count: Int

  public init(reason: String, count: Int) {
    self.reason = reason
    self.count = count
  }
}

extension [ReasonCount] {
  /// Adds to the count of a reason. Reasons beyond `maximum` are counted together as `other`.
  package mutating func count(_ reason: String, by amount: Int, maximum: Int = JobResult.maximumReasons) {
    if let index = firstIndex(where: { $0.reason == reason }) {
      self[index].count += amount
    } else if count < maximum || reason == "other" {
      append(ReasonCount(reason: reason, count: amount))
    } else {
      count("other", by: amount, maximum: maximum)
    }
  }

  /// How many more there are than in `earlier`, by reason.
  package func since(_ earlier: [ReasonCount]) -> [ReasonCount] {
    compactMap { entry in
      let before = earlier.first { $0.reason == entry.reason }?.count ?? 0
      return entry.count > before ? ReasonCount(reason: entry.reason, count: entry.count - before) : nil
    }
  }

  package var total: Int { reduce(0) { $0 + $1.count } }

  /// `{"Unregistered":1}`
  var object: JSONObject { JSONObject(map { ($0.reason, $0.count) }) }

  init(_ value: JSONValue?) {
    self = (value?.members ?? []).prefix(JobResult.maximumReasons)
      .map { ReasonCount(reason: $0.key, count: JobResult.count($0.value)) }
  }
}
