#if canImport(Glibc)
  import Glibc
#endif

/// Reads a file that a setting names. Only regular files are accepted: opening a pipe may block, and a device may never end.
enum SettingFile {
  struct Fault: Error, Equatable, CustomStringConvertible {
    /// The reason, for example `cannot be read (No such file or directory)`.
    let reason: String
    /// What is expected of the file; nil for what the setting expects.
    var expected: String?

    var description: String { "the file \(reason)" }
  }

  /// Throws if there is no regular file at `path`.
  static func check(_ path: String) throws(Fault) {
    var status = stat()
    guard stat(path, &status) == 0 else { throw .system() }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .irregular }
  }

  /// Returns the contents of a regular file. Throws if it has more than `maximumBytes`.
  static func read(_ path: String, maximumBytes: Int) throws(Fault) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw .system() }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .system() }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .irregular }
    var bytes = [UInt8](repeating: 0, count: maximumBytes + 1)
    var count = 0
    while count < bytes.count {
      let read = bytes.withUnsafeMutableBytes { room in
        Glibc.read(descriptor, room.baseAddress?.advanced(by: count), room.count - count)
      }
      if read < 0, errno == EINTR { continue }
      guard read >= 0 else { throw .system() }
      if read == 0 { break }
      count += read
    }
    guard count <= maximumBytes else {
      throw Fault(reason: "is larger than \(maximumBytes) bytes", expected: "a file of at most \(maximumBytes) bytes")
    }
    return Array(bytes[..<count])
  }
}

extension SettingFile.Fault {
  fileprivate static let irregular = SettingFile.Fault(reason: "is not a regular file")

  /// The fault of `errno`.
  fileprivate static func system() -> SettingFile.Fault {
    .init(reason: "cannot be read (\(String(cString: strerror(errno))))")
  }
}
