import EventLoop
public import JSON
public import Redis

/// Why a backup could not be read or written completely.
public enum BackupError: Error, Sendable, Equatable {
  /// The file cannot be opened, read or written.
  case file(String)
  /// The file is not a valid backup from this position on.
  case format(JSONWindow.Fault, file: String)
  case redis(RedisError)
}

extension BackupError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .file(let text): text
    case .format(let fault, let file): "\(file): \(fault)"
    case .redis(let error): "Redis: \(error)"
    }
  }
}

/// Returns the value of a call to Redis. Throws a ``BackupError`` if the call fails.
@EventLoop
func wrappingFaults<Value>(
  _ call: @autoclosure () async throws(RedisError) -> Value
) async throws(BackupError) -> Value {
  do { return try await call() } catch { throw .redis(error) }
}

/// An import that ended early. The entries imported until then stay, and the file can be imported again.
public struct BackupFailure: Error, Sendable, Equatable {
  public let cause: BackupError
  /// The entries imported before the failure.
  public let done: BackupSummary
}

extension BackupFailure: CustomStringConvertible {
  public var description: String { "\(cause); \(done.total) entries were processed before" }
}
