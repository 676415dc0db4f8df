import Dispatch
import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// An open file or pipe. It is read and written on its own serial queue, so a slow disk does not block the event loop.
@EventLoop
final class BackupFile {
  private nonisolated static let chunkBytes = 64 * 1024

  /// The name in errors.
  nonisolated let name: String
  private let descriptor: Int32
  private let queue = DispatchQueue(label: "martlet.backup")

  /// Takes ownership of `descriptor` and closes it.
  init(descriptor: Int32, name: String) {
    self.descriptor = descriptor
    self.name = name
  }

  deinit {
    close(descriptor)
  }

  /// Opens a file for reading. `-` is stdin.
  static func reading(_ path: String) throws(BackupError) -> BackupFile {
    guard path != "-" else { return BackupFile(descriptor: dup(STDIN_FILENO), name: "stdin") }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("cannot open '\(path)'") }
    return BackupFile(descriptor: descriptor, name: path)
  }

  /// Returns the next bytes, empty at the end of the file.
  func read() async throws(BackupError) -> [UInt8] {
    try await perform { descriptor, name throws(BackupError) in
      var chunk = [UInt8](repeating: 0, count: BackupFile.chunkBytes)
      while true {
        let count = Glibc.read(descriptor, &chunk, chunk.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { throw BackupFile.failure("cannot read \(name)") }
        chunk.removeLast(chunk.count - count)
        return chunk
      }
    }
  }

  /// Returns the `count` bytes at `offset`. Throws if the file is shorter.
  func read(_ count: Int, at offset: Int) async throws(BackupError) -> [UInt8] {
    try await perform { descriptor, name throws(BackupError) in
      var bytes = [UInt8](repeating: 0, count: count)
      var filled = 0
      while filled < count {
        let got = bytes.withUnsafeMutableBytes {
          pread(descriptor, $0.baseAddress! + filled, count - filled, off_t(offset + filled))
        }
        if got < 0, errno == EINTR { continue }
        guard got > 0 else { throw BackupFile.failure("cannot read \(name)") }
        filled += got
      }
      return bytes
    }
  }

  func write(_ bytes: [UInt8]) async throws(BackupError) {
    _ = try await perform { descriptor, name throws(BackupError) in
      var written = 0
      while written < bytes.count {
        let count = bytes.withUnsafeBytes {
          Glibc.write(descriptor, $0.baseAddress! + written, bytes.count - written)
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw BackupFile.failure("cannot write \(name)") }
        written += count
      }
      return []
    }
  }

  /// Returns when the written bytes are on the disk.
  func synchronize() async throws(BackupError) {
    _ = try await perform { descriptor, name throws(BackupError) in
      guard fsync(descriptor) == 0 else { throw BackupFile.failure("cannot write \(name)") }
      return []
    }
  }

  nonisolated static func failure(_ text: String) -> BackupError {
    .file("\(text): \(String(cString: strerror(errno)))")
  }

  private func perform(
    _ body: @escaping @Sendable (Int32, String) throws(BackupError) -> [UInt8]
  ) async throws(BackupError) -> [UInt8] {
    let (descriptor, name) = (descriptor, name)
    let result = await withCheckedContinuation { continuation in
      queue.async {
        continuation.resume(returning: Result { () throws(BackupError) in try body(descriptor, name) })
      }
    }
    return try result.get()
  }
}

/// The destination of a backup: stdout, or a file with mode 0600 that gets its name when it is complete.
@EventLoop
final class BackupDestination {
  let file: BackupFile
  /// Nil for stdout.
  private let path: String?
  private let temporaryPath: String

  /// `-` is stdout.
  init(_ path: String) throws(BackupError) {
    guard path != "-" else {
      file = BackupFile(descriptor: dup(STDOUT_FILENO), name: "stdout")
      self.path = nil
      temporaryPath = ""
      return
    }
    try BackupDestination.refuseSpecialFile(path)
    // The temporary file is in the same directory, so that it can be renamed.
    let (descriptor, temporaryPath) = try BackupDestination.temporary(beside: path)
    file = BackupFile(descriptor: descriptor, name: path)
    self.path = path
    self.temporaryPath = temporaryPath
  }

  /// Gives the file its name.
  func commit() async throws(BackupError) {
    guard let path else { return }
    try await file.synchronize()
    guard rename(temporaryPath, path) == 0 else { throw BackupFile.failure("cannot write '\(path)'") }
  }

  /// Removes the temporary file.
  func abandon() {
    if path != nil { unlink(temporaryPath) }
  }

  /// Returns a temporary file without a name.
  static func spool(beside path: String) throws(BackupError) -> BackupFile {
    let (descriptor, temporaryPath) = try temporary(beside: path == "-" ? "/tmp/martlet-backup" : path)
    unlink(temporaryPath)
    return BackupFile(descriptor: descriptor, name: "a temporary file beside \(path)")
  }

  /// Refuses a pipe or a device, which a rename would replace.
  private static func refuseSpecialFile(_ path: String) throws(BackupError) {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { return }
    throw .file("'\(path)' is not a regular file; - writes to stdout")
  }

  private static func temporary(beside path: String) throws(BackupError) -> (Int32, String) {
    var template = Array("\(path).XXXXXX".utf8CString)
    // mkstemp uses mode 0600.
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw BackupFile.failure("cannot write beside '\(path)'") }
    return (descriptor, String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
  }
}
