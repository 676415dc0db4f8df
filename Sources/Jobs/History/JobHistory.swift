import JSON

/// What happened to a job that was not simply accepted: the member `history` of its record, in order of time.
///
/// It is bounded. When it is full, entries of its middle are dropped and counted, so that the beginning and the latest attempts stay.
public struct JobHistory: Sendable, Equatable {
  public static let maximumEntries = 50
  /// The maximum size of the JSON.
  public static let maximumBytes = 8192
  /// Entries of the beginning that are never dropped.
  private static let kept = 4

  public private(set) var entries: [HistoryEntry] = []
  /// Bytes of the entries' JSON, with a comma each.
  private var bytes = 0

  public init() {}

  public init(_ entries: [HistoryEntry]) {
    for entry in entries { append(entry) }
  }

  public var isEmpty: Bool { entries.isEmpty }

  /// The highest crash count that the history has: workers in a row that died while they held the job.
  public var crashes: Int {
    entries.reduce(0) { most, entry in
      if case .takenOver(let crashes) = entry.event { max(most, crashes) } else { most }
    }
  }

  /// Whether the job went to a channel.
  public var isOfChannel: Bool {
    entries.contains { if case .channel = $0.event { true } else { false } }
  }

  public mutating func append(_ at: Int64, _ event: HistoryEvent) { append(HistoryEntry(at: at, event)) }

  /// Adds an entry at the end. One that postpones the job for the same reason as before only raises a count.
  public mutating func append(_ entry: HistoryEntry) {
    let entry = entry.bounded
    if let repeated = repeated(entry) {
      entries.removeLast(2)
      entries.append(repeated)
      bytes = entries.reduce(0) { $0 + $1.length }
    } else {
      entries.append(entry)
      bytes += entry.length
    }
    while entries.count > JobHistory.kept + 2, isFull { dropOne() }
  }

  private var isFull: Bool { entries.count > JobHistory.maximumEntries || bytes > JobHistory.maximumBytes - 2 }

  /// The entry that replaces the last two, which are a postponement and the next claim, if `entry` postpones once more.
  private func repeated(_ entry: HistoryEntry) -> HistoryEntry? {
    guard case .postponed(let due, let reason, _) = entry.event, let claim = entries.last, case .claimed = claim.event,
      case .postponed(_, reason, let times)? = entries.dropLast().last?.event
    else { return nil }
    return HistoryEntry(at: entry.at, .postponed(until: due, reason: reason, times: times + 1))
  }

  private mutating func dropOne() {
    let place = JobHistory.kept
    let (first, second) = (entries[place], entries[place + 1])
    // The first time, the entry that counts takes the place of one that is dropped.
    let before = if case .omitted(let count) = first.event { count } else { 1 }
    let mark = HistoryEntry(at: second.at, .omitted(before + 1))
    entries.replaceSubrange(place...place + 1, with: [mark])
    bytes += mark.length - first.length - second.length
  }
}

/// One event of a job's history.
public struct HistoryEntry: Sendable, Equatable {
  /// Unix ms.
  public var at: Int64
  public var event: HistoryEvent

  public init(at: Int64, _ event: HistoryEvent) {
    self.at = at
    self.event = event
  }
}
