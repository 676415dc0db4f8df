/// How much may be written beside the jobs until Redis is asked again.
struct RecordRoom {
  /// With less, nothing is written before Redis is asked again: it would be asked all the time.
  private static let leastShare = 0.01

  private var written = 0
  private var writtenBefore = 0
  private var short = Int.max
  private var full = Int.max
  private var least = 0

  /// Returns true if what was written may have brought Redis to the next stage.
  mutating func take(_ bytes: Int) -> Bool {
    written &+= bytes
    return written > short
  }

  /// Whether Redis should be asked when that may be so.
  var isWorthAsking: Bool { short > least }

  func stage(from stage: MemoryStage) -> MemoryStage {
    written <= short ? stage : max(stage, written <= full ? .short : .full)
  }

  mutating func beginReading() { writtenBefore = written }

  /// `share`: this worker's of what the fleet writes.
  mutating func endReading(_ server: ServerMemory?, servers: Int, share: Double) {
    written -= writtenBefore
    writtenBefore = 0
    guard let server, let maximum = server.maximum else {
      (short, full) = (.max, .max)
      return
    }
    func room(upTo limit: Double) -> Int {
      Int(max(0, Double(maximum) * limit - Double(server.used)) * share * Double(servers))
    }
    (short, full) = (room(upTo: MemoryStage.shortShare), room(upTo: MemoryStage.fullShare))
    least = Int(Double(maximum) * RecordRoom.leastShare * share * Double(servers))
  }
}

/// What a record takes in Redis beside its text.
enum RecordSize {
  /// Bytes of the key without the job's id, of the entries for key and expiration, and of what the allocator rounds up.
  static let overhead = 220
}
