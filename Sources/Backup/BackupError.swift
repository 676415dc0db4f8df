public import JSON
public import Redis

/// Why a backup was not read or written to its end.
public enum BackupError: Error, Sendable, Equatable {
  /// The file cannot be opened, read or written.
  case file(String)
  /// The file is no backup, from there on.
  case format(JSONWindow.Fault)
  case redis(RedisError)
}

extension BackupError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .file(let text): text
    case .format(let fault): "\(fault)"
    case .redis(let error): "Redis: \(error)"
    }
  }
}
