import EventLoop
import JSON

/// Groups entries that arrive in any order by app. What exceeds the memory limit waits in a temporary file, so memory grows only
/// with the number of apps.
@EventLoop
final class BackupSpool {
  /// The limit of the buffers of all apps together.
  private static let maximumBufferedBytes = 4 * 1024 * 1024

  private struct Section {
    var segments: [Range<Int>] = []
    var buffer: [UInt8] = []
  }

  private let file: BackupFile
  private var sections: [String: Section] = [:]
  private var bufferedBytes = 0
  private var fileBytes = 0

  /// `file` must be empty.
  init(_ file: BackupFile) {
    self.file = file
  }

  /// Adds an entry. Refused entries are ignored.
  func add(_ entry: BackupEntry) async throws(BackupError) {
    guard let place = entry.place else { return }
    var writer = JSONWriter()
    writer.key(escaping: place.key)
    place.record.write(to: &writer)
    let separator = Array(",\n".utf8)
    sections[place.section, default: Section()].buffer += writer.bytes + separator
    bufferedBytes += writer.bytes.count + separator.count
    if bufferedBytes > BackupSpool.maximumBufferedBytes { try await flush() }
  }

  /// Writes the complete backup, with the apps in the order of their names.
  func write(to destination: BackupFile) async throws(BackupError) {
    try await flush()
    var isFirst = true
    try await destination.write(Array("{".utf8))
    for (name, section) in sections.sorted(by: { $0.key < $1.key }) {
      var head = JSONWriter()
      head.key(escaping: name)
      try await destination.write(Array((isFirst ? "\n" : ",\n").utf8) + head.bytes + Array("{\n".utf8))
      isFirst = false
      for (number, segment) in section.segments.enumerated() {
        var bytes = try await file.read(segment.count, at: segment.lowerBound)
        // The separator after the last entry is removed.
        if number == section.segments.count - 1 { bytes.removeLast(2) }
        try await destination.write(bytes)
      }
      try await destination.write(Array("\n}".utf8))
    }
    try await destination.write(Array("\n}\n".utf8))
  }

  private func flush() async throws(BackupError) {
    var out: [UInt8] = []
    out.reserveCapacity(bufferedBytes)
    for (name, section) in sections where !section.buffer.isEmpty {
      let start = fileBytes + out.count
      out += section.buffer
      sections[name]?.segments.append(start..<start + section.buffer.count)
      sections[name]?.buffer = []
    }
    bufferedBytes = 0
    fileBytes += out.count
    try await file.write(out)
  }
}

extension BackupSpool {
  /// Writes a backup file of the entries that `body` adds. Leaves no file behind if it throws. A process that is killed leaves
  /// `FILE.XXXXXX`.
  static func written(
    to path: String, _ body: (BackupSpool) async throws(BackupError) -> Void
  ) async throws(BackupError) {
    let spool = BackupSpool(try BackupDestination.spool(beside: path))
    let destination = try BackupDestination(path)
    do throws(BackupError) {
      try await body(spool)
      try await spool.write(to: destination.file)
      try await destination.commit()
    } catch {
      destination.abandon()
      throw error
    }
  }
}
