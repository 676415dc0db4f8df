/// What a proxy does with the bytes of its connections.
enum ProxyMode: Equatable, Sendable {
  case forward
  /// Forwards each byte this much later.
  case delay(Duration)
  /// Reads and drops everything, and closes nothing: both ends consider the connection open.
  case swallow
  /// Closes new connections at once.
  case refuse
}
