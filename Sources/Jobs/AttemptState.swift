import JSON
public import PushModel

/// What an attempt leaves for the next one: the state in the envelope, as JSON.
public struct AttemptState: Sendable, Equatable {
  /// Whether the job has been scheduled and its time has come, by Redis' clock.
  public var isReleased = false
  /// Unix milliseconds, fixed at the first claim.
  public var expiresAt: Int64?
  /// Nil until there is something to keep: most jobs have one attempt, and their state is passed on without a copy.
  private var kept: Kept?

  public init() {}

  /// Bytes that cannot be read give an empty state: the job then starts over.
  public init(json bytes: [UInt8]) {
    guard !bytes.isEmpty, let value = try? JSONValue(parsing: bytes) else { return }
    isReleased = value["released"]?.bool ?? false
    expiresAt = value["expiresAt"]?.time
    let members = Members(
      open: value["open"]?.array.map(AttemptState.tokens),
      uncertain: AttemptState.tokens(value["uncertain"]?.array ?? []),
      reached: (value["reached"]?.array ?? []).compactMap(\.string),
      result: value["result"].flatMap { JobResult(parsing: $0.bytes) }, cursor: value["cursor"]?.string,
      recordAuthor: value["recordAuthor"]?.string, history: JobHistory(value["history"]),
      waitingSince: value["waitingSince"]?.time, requeues: JobResult.count(value["requeues"]))
    kept = Kept(members)
  }

  private static func tokens(_ values: [JSONValue]) -> [DeviceToken] {
    values.compactMap { $0.string.map { DeviceToken($0) } }
  }

  /// Lets the next attempt send to the uncertain tokens too.
  public mutating func reopenUncertain() {
    guard !uncertain.isEmpty else { return }
    open = (open ?? []) + uncertain
    uncertain = []
  }

  public func json() -> [UInt8] {
    if self == AttemptState() { return [] }
    let object: JSONObject = [
      "open": open?.map(\.text), "uncertain": uncertain.isEmpty ? nil : uncertain.map(\.text),
      "reached": reached.isEmpty ? nil : reached,
      "result": result.map { JSONText($0.json()) }, "released": isReleased ? true : nil, "expiresAt": expiresAt,
      "cursor": cursor, "recordAuthor": recordAuthor, "history": history.isEmpty ? nil : history,
      "waitingSince": waitingSince, "requeues": requeues == 0 ? nil : requeues,
    ]
    return object.bytes
  }
}

// MARK: - Kept

extension AttemptState {
  /// What only later attempts have.
  private struct Members: Sendable, Equatable {
    var open: [DeviceToken]?
    var uncertain: [DeviceToken] = []
    var reached: [String] = []
    var result: JobResult?
    var cursor: String?
    var recordAuthor: String?
    var history = JobHistory()
    var waitingSince: Int64?
    var requeues = 0
  }

  private final class Kept: Sendable, Equatable {
    let members: Members

    /// Returns nil if there is nothing to keep.
    init?(_ members: Members) {
      guard members != Members() else { return nil }
      self.members = members
    }

    static func == (left: Kept, right: Kept) -> Bool { left === right || left.members == right.members }
  }

  private var members: Members {
    get { kept?.members ?? Members() }
    set { kept = Kept(newValue) }
  }

  /// Whether there is a ``result``, which is not copied to find out.
  public var hasResult: Bool { if let kept { kept.members.result != nil } else { false } }

  /// The tokens that the next attempt sends to; nil for all devices of the addressee.
  public var open: [DeviceToken]? {
    get { kept?.members.open }
    set { members.open = newValue }
  }

  /// Tokens of an at-most-once job whose push was written to APNs and never answered. Only an operator sends to them again.
  public var uncertain: [DeviceToken] {
    get { kept?.members.uncertain ?? [] }
    set { members.uncertain = newValue }
  }

  /// Owners of open devices who were reached on another device.
  public var reached: [String] {
    get { kept?.members.reached ?? [] }
    set { members.reached = newValue }
  }

  /// The result of the earlier attempts.
  public var result: JobResult? {
    get { kept?.members.result }
    set { members.result = newValue }
  }

  /// The position up to which a broadcast was sent.
  public var cursor: String? {
    get { kept?.members.cursor }
    set { members.cursor = newValue }
  }

  /// The ``JobResult/author`` of the job's present record.
  public var recordAuthor: String? {
    get { kept?.members.recordAuthor }
    set { members.recordAuthor = newValue }
  }

  /// Since when the job waits for a token of its Live Activity, unix ms.
  public var waitingSince: Int64? {
    get { kept?.members.waitingSince }
    set { members.waitingSince = newValue }
  }

  /// How often an operator has requeued the job.
  public var requeues: Int {
    get { kept?.members.requeues ?? 0 }
    set { members.requeues = newValue }
  }

  /// What happened to the job so far. ``result`` has none.
  public var history: JobHistory {
    get { kept?.members.history ?? JobHistory() }
    set { members.history = newValue }
  }
}
