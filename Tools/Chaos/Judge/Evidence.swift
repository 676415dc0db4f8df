/// Everything that a run is judged by.
struct Evidence: Sendable {
  var jobs: [ProducedJob] = []
  /// By job id.
  var records: [String: JobRecord] = [:]
  /// In the order of arrival.
  var pushes: [LedgerPush] = []
  var ownership = OwnershipTimeline()
  var incidents: [Incident] = []
  /// The worker behind each port from which APNs sees a connection, and since when (unix nanoseconds).
  var connections: [Int: [(since: UInt64, worker: Int)]] = [:]
  /// Times during which the clock of a worker was wrong, unix nanoseconds.
  var clockJumps: [ClosedRange<UInt64>] = []
  /// Whether Redis was full for some time: records that lay there have made room then, and others were left out.
  var wasFull = false
  /// When dead letters were requeued, by job id, unix nanoseconds.
  var requeued: [String: [UInt64]] = [:]
  /// `id: reason` of each dead letter at the end.
  var deadLetters: [String] = []
  /// `key length` of each key that holds jobs or leases at the end.
  var leftovers: [String] = []
  /// Devices that are not registered any more although APNs would accept them.
  var removed: [String] = []
  /// Processes that ended although nobody ended them, or not with 0.
  var endings: [String] = []
}
