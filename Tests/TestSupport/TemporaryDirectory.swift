import Foundation

/// A temporary directory, removed with its content on request or at the end of the test process.
public final class TemporaryDirectory: Sendable {
  private static let remaining = Locked<Set<String>>([])
  private static let atExit: Void = {
    atexit {
      for path in TemporaryDirectory.remaining.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: path) }
    }
  }()

  public let path: String

  public init() throws {
    _ = TemporaryDirectory.atExit
    path = "/tmp/martlet-\(UUID().uuidString.prefix(13))"
    // Keys and sockets of tests are in it.
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    _ = TemporaryDirectory.remaining.withLock { $0.insert(path) }
  }

  deinit {
    remove()
  }

  public func remove() {
    guard TemporaryDirectory.remaining.withLock({ $0.remove(path) }) != nil else { return }
    try? FileManager.default.removeItem(atPath: path)
  }
}
