import EventLoop

/// The limits and times of the counters in Redis.
public enum CounterLimits {
  /// How often a worker writes what it has counted.
  static let writeInterval = Duration.seconds(5)
  /// How far back the counters reach.
  public static let hours = 72
  static let minuteTimeToLive = Duration.seconds((hours + 1) * 3600)
  static let hourTimeToLive = Duration.seconds((hours + 2) * 3600)
  /// Reasons that a worker counts by name. Further ones are counted as ``otherName``.
  static let maximumReasons = 32
  /// Apps that a worker counts by name. Further ones are counted as ``otherName``.
  static let maximumApps = 100
  /// Fields of a hash, which all workers share. Redis stores this number compactly. Further names are counted as
  /// ``otherName``.
  static let maximumFields = 480
  /// Bytes of a name.
  static let maximumNameBytes = 155
  public static let otherName = "other"
}
