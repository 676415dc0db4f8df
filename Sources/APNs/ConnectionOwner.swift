import EventLoop

/// Who gives pushes to a connection and wants to hear how they ended.
@EventLoop
protocol ConnectionOwner: AnyObject {
  func ended(_ push: Push, _ outcome: PushAnswer, on connection: Connection, now: UInt64)
  /// There may be capacity, or something to flush.
  func connectionHasRoom(_ connection: Connection)
  /// The same in the midst of a batch of answers: what waits may be written at once.
  func connectionMayTakeMore(_ connection: Connection)
  /// It takes no more pushes, another connection is needed.
  func connectionDrains(_ connection: Connection)
  func connectionClosed(_ connection: Connection, _ reason: String)
}
