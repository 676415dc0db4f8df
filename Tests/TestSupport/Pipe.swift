import Glibc

/// The descriptors between a test and its child.
enum Pipe {
  struct Failure: Error {
    let code: Int32
  }

  static func make() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [0, 0]
    // Not pipe(): only a socket pair is closed on exec from the start, even if another thread starts a process meanwhile.
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw Failure(code: errno)
    }
    return (ends[0], ends[1])
  }

  /// A nameless file to be read from its start.
  static func file(containing text: String) throws -> Int32 {
    var template = Array("/tmp/martlet-input-XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw Failure(code: errno) }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    unlink(template)
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let written = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      guard written > 0 else { throw Failure(code: errno) }
      bytes = bytes.dropFirst(written)
    }
    lseek(descriptor, 0, SEEK_SET)
    return descriptor
  }
}
