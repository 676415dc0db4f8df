import Redis

/// The answer of ``QueueScripts/acknowledge``: `place` of each job that was not in the in-flight list, `-1 - place` of
/// each whose record was not written because another job has one there. Places count from 0, as the keys of the records.
/// Behind them the error by which Redis refused records, if it did.
struct AcknowledgeAnswer: Equatable {
  var missing: Set<Int> = []
  var keptRecords: Set<Int> = []
  var refusal: String?

  /// Returns nil if the oldest jobs of the list were others.
  init?(_ value: RedisValue) {
    guard let places = value.array else { return nil }
    for place in places.compactMap(\.integer) {
      if place < 0 { keptRecords.insert(Int(-1 - place)) } else { missing.insert(Int(place)) }
    }
    refusal = places.last?.string
  }
}

/// The answer of ``QueueScripts/finish``, ``QueueScripts/move`` and ``QueueScripts/handBack``.
enum SettleAnswer: Equatable {
  /// -1: the key of the target holds another type. Nothing was written.
  case wrongType
  /// 0: the job was not in the in-flight list. Nothing was written.
  case missing
  /// 1 and the number of dead letters that were deleted because there were too many; in an array if another job has a
  /// record under the id. If Redis refused something of what it leaves: an array of that number, 0 if another job has a
  /// record, the error of the events or an empty text, and that of the record.
  case settled(droppedLetters: Int, keptRecord: Bool, refusedEvents: String? = nil, refusedRecord: String? = nil)

  init(_ value: RedisValue) {
    let number = value.integer ?? value.array?.first?.integer ?? 0
    switch number {
    case ..<0: self = .wrongType
    case 0: self = .missing
    default:
      let parts = value.array ?? []
      let isKept = parts.count == 1 || (parts.count > 1 && parts[1].integer == 0)
      let refusals = parts.dropFirst(2).map { $0.string.flatMap { $0.isEmpty ? nil : $0 } }
      self = .settled(
        droppedLetters: Int(number) - 1, keptRecord: isKept, refusedEvents: refusals.first ?? nil,
        refusedRecord: refusals.dropFirst().first ?? nil)
    }
  }
}
