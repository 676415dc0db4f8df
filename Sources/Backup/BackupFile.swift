import Dispatch
import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// An open file or pipe, read and written on a queue of its own: a slow disk, or whoever types, does not hold up the loop.
@EventLoop
final class BackupFile {
  /// Bytes of one read.
  private nonisolated static let chunkBytes = 64 * 1024

  /// For errors.
  nonisolated let name: String
  private let descriptor: Int32
  private let queue = DispatchQueue(label: "martlet.backup")

  /// `descriptor` is closed with the file.
  init(descriptor: Int32, name: String) {
    self.descriptor = descriptor
    self.name = name
  }

  deinit {
    close(descriptor)
  }

  /// `-` is stdin.
  static func reading(_ path: String) throws(BackupError) -> BackupFile {
    guard path != "-" else { return BackupFile(descriptor: dup(STDIN_FILENO), name: "stdin") }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("cannot open '\(path)'") }
    return BackupFile(descriptor: descriptor, name: path)
  }

  /// Empty at the end.
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

  /// From there on, less at the end of the file.
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

  /// Returns when what was written is on the disk.
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
