import JSON
import Registry
@testable package import Backup

/// The entries that a source reads from a text, and the fault that ended it.
package struct Reading: Equatable {
  package var entries: [BackupEntry] = []
  package var fault: String?

  /// Feeds the text in chunks of `size` bytes.
  package init(_ source: some BackupSource, _ bytes: [UInt8], size: Int = 1 << 20) {
    var text = BackupText(source)
    do {
      for start in stride(from: 0, to: bytes.count, by: size) {
        text.window.append(Array(bytes[start..<min(start + size, bytes.count)]))
        while let entry = try text.next() { entries.append(entry) }
      }
      text.window.close()
      while let entry = try text.next() { entries.append(entry) }
    } catch {
      fault = error.description
    }
  }

  package init(_ source: some BackupSource, _ text: String, size: Int = 1 << 20) {
    self.init(source, Array(text.utf8), size: size)
  }

  /// The tokens and ids, or the reasons of refusals.
  package var names: [String] {
    entries.map {
      switch $0 {
      case .device(let token, let metadata): "\(metadata.bundleID ?? "-")/\(token)"
      case .instance(let id, _): "instance/\(id)"
      case .channel(let channel): "channel/\(channel.name)"
      case .refused(let reason): reason.rawValue
      }
    }
  }
}
