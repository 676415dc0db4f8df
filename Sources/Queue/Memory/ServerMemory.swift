public import Redis

/// The memory of a Redis server.
public struct ServerMemory: Sendable, Equatable {
  /// Bytes that count towards ``maximum``.
  public var used: Int64
  /// The bytes at which Redis refuses to write; nil without a limit.
  public var maximum: Int64?
  /// Bytes of the machine, if the server tells.
  public var machine: Int64?

  /// Bytes that the server may use.
  var size: Int64? { maximum ?? machine }
  /// How much of ``maximum`` is used; 0 without a limit.
  public var share: Double { maximum.map { Double(used) / Double($0) } ?? 0 }

  public init(used: Int64, maximum: Int64? = nil, machine: Int64? = nil) {
    self.used = used
    self.maximum = maximum
    self.machine = machine
  }

  /// Returns nil if the server does not tell what it uses.
  public init?(_ info: ServerInfo) {
    guard let used = info.usedMemory else { return nil }
    self.init(
      used: max(0, used - (info.uncountedMemory ?? 0)), maximum: info.maximumMemory.flatMap { $0 > 0 ? $0 : nil },
      machine: info.machineMemory.flatMap { $0 > 0 ? $0 : nil })
  }
}

/// How much a worker may write beside the jobs.
public enum MemoryStage: String, Sendable, CaseIterable, Comparable {
  /// Everything.
  case ample
  /// Accepted jobs leave no record, and those that lie there make room.
  case short
  /// Nothing but what moves or ends a job.
  case full

  public static let shortShare = 0.85
  public static let fullShare = 0.95
  /// Records make room until no more than this is used.
  static let relaxedShare = 0.8
  private static let lessFullShare = 0.9

  /// The stage of a server. A stage ends somewhat below the share at which it begins, so that it does not flap.
  func next(_ share: Double) -> MemoryStage {
    if share >= MemoryStage.fullShare || (self == .full && share >= MemoryStage.lessFullShare) { return .full }
    if share >= MemoryStage.shortShare || (self != .ample && share >= MemoryStage.relaxedShare) { return .short }
    return .ample
  }

  private var rank: Int { MemoryStage.allCases.firstIndex(of: self) ?? 0 }

  public static func < (first: MemoryStage, second: MemoryStage) -> Bool { first.rank < second.rank }
}
