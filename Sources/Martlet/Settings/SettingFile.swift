#if canImport(Glibc)
  import Glibc
#endif

/// A file that a setting names.
enum SettingFile {
  struct Fault: Error, Equatable, CustomStringConvertible {
    /// `cannot be read (No such file or directory)`
    let reason: String

    var description: String { "the file \(reason)" }
  }

  /// Why there is no regular file to be read; nil when there is one.
  static func fault(of path: String) -> Fault? {
    var status = stat()
    guard stat(path, &status) == 0 else { return .system() }
    return status.st_mode & S_IFMT == S_IFREG ? nil : .irregular
  }

  /// Of a regular file only: a pipe without a writer would keep the program from starting, a device may never end.
  static func read(_ path: String, maximumBytes: Int) -> Result<[UInt8], Fault> {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return .failure(.system()) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return .failure(.system()) }
    guard status.st_mode & S_IFMT == S_IFREG else { return .failure(.irregular) }
    var bytes = [UInt8](repeating: 0, count: maximumBytes + 1)
    var count = 0
    while count < bytes.count {
      let read = bytes.withUnsafeMutableBytes { room in
        Glibc.read(descriptor, room.baseAddress?.advanced(by: count), room.count - count)
      }
      if read < 0, errno == EINTR { continue }
      guard read >= 0 else { return .failure(.system()) }
      if read == 0 { break }
      count += read
    }
    guard count <= maximumBytes else { return .failure(Fault(reason: "is larger than \(maximumBytes) bytes")) }
    return .success(Array(bytes[..<count]))
  }
}

extension SettingFile.Fault {
  fileprivate static let irregular = SettingFile.Fault(reason: "is no regular file")

  /// From `errno`.
  fileprivate static func system() -> SettingFile.Fault {
    .init(reason: "cannot be read (\(String(cString: strerror(errno))))")
  }
}
