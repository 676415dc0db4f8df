import JSON
import PushModel
import Registry

@testable import Backup

/// A file of another sender's devices, read as each of the formats.
enum DeviceFileInput {
  private static let maximumFaultBytes = 512
  private static let app = "com.example.app"

  static func check(_ bytes: [UInt8]) throws(Violation) {
    for format in PartsInput.deviceFormats {
      let whole = try read(bytes, format.source(app), max(1, bytes.count))
      try require(
        try read(bytes, format.source(app), 7) == whole,
        "\(format.name) is read in two ways, depending on where it is cut")
    }
  }

  private struct Reading: Equatable {
    var entries: [BackupEntry] = []
    var lines: [Int] = []
    var fault: JSONWindow.Fault?
  }

  private static func read(_ bytes: [UInt8], _ source: some BackupSource, _ chunk: Int) throws(Violation) -> Reading {
    var (text, reading) = (BackupText(source), Reading())
    do throws(JSONWindow.Fault) {
      var start = 0
      repeat {
        let end = min(start + chunk, bytes.count)
        if start < end { text.window.append(Array(bytes[start..<end])) } else { text.window.close() }
        while let entry = try text.next() {
          reading.entries.append(entry)
          reading.lines.append(text.line)
        }
        start += chunk
      } while !text.window.isClosed
    } catch {
      reading.fault = error
      try requireShort(error.description, maximumFaultBytes, "a fault")
    }
    for entry in reading.entries { try check(entry) }
    let lineCount = 1 + bytes.count { $0 == 0x0A }
    try require(
      zip(reading.lines, reading.lines.dropFirst()).allSatisfy { $0 <= $1 } && (reading.lines.last ?? 1) <= lineCount,
      "the lines of entries are out of order")
    return reading
  }

  private static func check(_ entry: BackupEntry) throws(Violation) {
    switch entry {
    case .refused: break
    case .instance, .channel: throw Violation(description: "a device is read as an instance")
    case .device(let token, let metadata):
      try require(DeviceToken.isWellFormed(token.text), "a malformed token is accepted")
      try require(metadata.bundleID.map { BundleID.isWellFormed($0) } ?? true, "a malformed bundle id is accepted")
      try require(
        metadata.username.text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control },
        "a username with control characters is accepted")
      try require(metadata.platform == .ios, "a device that is not one of APNs is accepted")
    }
  }
}
