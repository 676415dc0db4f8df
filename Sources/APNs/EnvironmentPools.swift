import PushModel
import EventLoop

/// The pools in use. Not a dictionary, because every push looks up its pool.
struct EnvironmentPools {
  private var production: ConnectionPool?
  private var sandbox: ConnectionPool?

  subscript(environment: PushEnvironment) -> ConnectionPool? {
    get { environment == .production ? production : sandbox }
    set { if environment == .production { production = newValue } else { sandbox = newValue } }
  }

  var all: [ConnectionPool] { [production, sandbox].compactMap { $0 } }

  /// Removes the pool where it is.
  mutating func remove(_ pool: ConnectionPool) {
    if production === pool { production = nil }
    if sandbox === pool { sandbox = nil }
  }

  var isEmpty: Bool { production == nil && sandbox == nil }
}
