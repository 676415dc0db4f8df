import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// Where a backup is written to: stdout, or a file that has its name only once it is whole. Nobody else may read it.
@EventLoop
final class BackupDestination {
  let file: BackupFile
  /// Nil: stdout.
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
    // In the same directory, so that it can be renamed.
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

  /// Takes back what was written.
  func abandon() {
    if path != nil { unlink(temporaryPath) }
  }

  /// A file without a name, for what must not be held in memory.
  static func spool(beside path: String) throws(BackupError) -> BackupFile {
    let (descriptor, temporaryPath) = try temporary(beside: path == "-" ? "/tmp/martlet-backup" : path)
    unlink(temporaryPath)
    return BackupFile(descriptor: descriptor, name: "a temporary file beside \(path)")
  }

  /// A rename would put the backup in the place of a pipe or a device, which others go on using.
  private static func refuseSpecialFile(_ path: String) throws(BackupError) {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { return }
    throw .file("'\(path)' is no regular file; - writes to stdout")
  }

  private static func temporary(beside path: String) throws(BackupError) -> (Int32, String) {
    var template = Array("\(path).XXXXXX".utf8CString)
    // Made with mode 0600.
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw BackupFile.failure("cannot write beside '\(path)'") }
    return (descriptor, String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
  }
}
