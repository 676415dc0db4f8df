import Foundation

/// A value behind a lock, as `Mutex` of Synchronization is. The thread sanitizer sees this lock; that of a `Mutex` is taken in
/// the toolchain's library, so that the sanitizer reports accesses which it protects.
public final class Locked<Value>: @unchecked Sendable {  // Every access holds the lock.
  private let lock = NSLock()
  private var value: Value

  public init(_ value: sending Value) {
    self.value = value
  }

  public func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
