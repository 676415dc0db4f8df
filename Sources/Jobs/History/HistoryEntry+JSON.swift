public import JSON

extension JobHistory: JSONWritable {
  /// Writes the entries as an array.
  public func write(to writer: inout JSONWriter) { entries.write(to: &writer) }

  /// Reads an array of entries; other values, and entries of an unknown kind, are left out.
  init(_ value: JSONValue?) {
    self.init((value?.array ?? []).prefix(JobHistory.maximumEntries).compactMap(HistoryEntry.init))
  }
}

extension HistoryEntry: JSONWritable {
  /// The maximum bytes of a reason. Reasons quote what APNs, Redis and producers wrote.
  private static let maximumReasonBytes = 120
  /// The maximum number of entries in a list of reasons.
  private static let maximumReasons = 5

  /// The entry with its texts and lists cut.
  var bounded: HistoryEntry {
    func cut(_ text: String) -> String {
      guard text.utf8.count > HistoryEntry.maximumReasonBytes else { return text }
      return text.prefix(bytes: HistoryEntry.maximumReasonBytes) + "…"
    }
    func cut(_ reasons: [ReasonCount]) -> [ReasonCount] {
      var few: [ReasonCount] = []
      for entry in reasons { few.count(cut(entry.reason), by: entry.count, maximum: HistoryEntry.maximumReasons) }
      return few
    }
    var entry = self
    switch event {
    case .resolved(let devices, let removed, let pushType):
      entry.event = .resolved(devices: devices, removed: cut(removed), pushType: pushType)
    case .answered(var answers):
      answers.refused = cut(answers.refused)
      answers.open = cut(answers.open)
      entry.event = .answered(answers)
    case .retry(let due, let reason): entry.event = .retry(at: due, reason: reason.map(cut))
    case .postponed(let due, let reason, let times):
      entry.event = .postponed(until: due, reason: reason.map(cut), times: times)
    case .buried(let reason): entry.event = .buried(reason: cut(reason))
    case .ended(let status, let reason): entry.event = .ended(status, reason: reason.map(cut))
    case .claimed, .takenOver, .channel, .policy, .deferred, .tooManyUpdates, .tooManyStarts, .nullInPayload, .paused,
      .omitted:
      break
    }
    return entry
  }

  /// Bytes of the JSON and a comma.
  var length: Int { object.bytes.count + 1 }

  /// `{"at","event",…}`
  private var object: JSONObject { ["at": at] + event.members }

  public func write(to writer: inout JSONWriter) { object.write(to: &writer) }

  /// Returns nil if the value is not an entry that ``write(to:)`` writes.
  init?(_ value: JSONValue) {
    guard let at = value["at"]?.time, let event = HistoryEvent(value) else { return nil }
    self.init(at: at, event)
  }
}
