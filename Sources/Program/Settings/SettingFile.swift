package import JSON

#if canImport(Glibc)
  import Glibc
#endif

/// Reads a file that a setting names. Only regular files are accepted: opening a pipe may block, and a device may never end.
package enum SettingFile {
  /// Throws if there is no regular file at `path`.
  package static func check(_ path: String) throws(InvalidValue) {
    var status = stat()
    guard stat(path, &status) == 0 else { throw unreadable("the file", expected: regular) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw irregular("the file", expected: regular) }
  }

  /// Returns the contents of a regular file. Throws if it has more than `maximumBytes`. `name` is what a fault calls it.
  package static func read(
    _ path: String, _ name: String = "the file", maximumBytes: Int, expected: String
  ) throws(InvalidValue) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw unreadable(name, expected: expected) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw unreadable(name, expected: expected) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw irregular(name, expected: expected) }
    var bytes = [UInt8](repeating: 0, count: maximumBytes + 1)
    var count = 0
    while count < bytes.count {
      let read = bytes.withUnsafeMutableBytes { room in
        Glibc.read(descriptor, room.baseAddress?.advanced(by: count), room.count - count)
      }
      if read < 0, errno == EINTR { continue }
      guard read >= 0 else { throw unreadable(name, expected: expected) }
      if read == 0 { break }
      count += read
    }
    guard count <= maximumBytes else {
      throw InvalidValue(
        seen: "\(name) is larger than \(maximumBytes) bytes", expected: "a file of at most \(maximumBytes) bytes")
    }
    return Array(bytes[..<count])
  }

  private static let regular = "the path of a regular file"

  private static func irregular(_ name: String, expected: String) -> InvalidValue {
    InvalidValue(seen: "\(name) is not a regular file", expected: expected)
  }

  /// The fault of `errno`.
  private static func unreadable(_ name: String, expected: String) -> InvalidValue {
    InvalidValue(seen: "\(name) cannot be read (\(String(cString: strerror(errno))))", expected: expected)
  }
}
