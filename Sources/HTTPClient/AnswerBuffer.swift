/// Collects what libcurl reads of an answer.
///
/// libcurl has an unretained pointer to it during a transfer.
final class AnswerBuffer {
  /// More is an error.
  private static let maximumHeaderBytes = 64 * 1024

  private let maximumBodyBytes: Int
  private(set) var headers: [(name: String, value: String)] = []
  private(set) var body: [UInt8] = []
  private(set) var isTruncated = false
  private(set) var hasTooLargeHead = false
  private var headerBytes = 0

  init(maximumBodyBytes: Int) {
    self.maximumBodyBytes = maximumBodyBytes
  }

  /// Takes the next bytes of the body. Returns false if there is no room for all of them.
  func append(body bytes: UnsafeRawBufferPointer) -> Bool {
    let room = max(0, maximumBodyBytes - body.count)
    body.append(contentsOf: bytes.prefix(room))
    if bytes.count > room { isTruncated = true }
    return !isTruncated
  }

  /// Takes a line of the head, with its line end. Returns false if the head is too large.
  func append(headerLine bytes: UnsafeRawBufferPointer) -> Bool {
    headerBytes += bytes.count
    guard headerBytes <= AnswerBuffer.maximumHeaderBytes else {
      hasTooLargeHead = true
      return false
    }
    let line = String(decoding: bytes, as: UTF8.self)
    // The head after an interim answer (100, 103) is another one.
    if line.hasPrefix("HTTP/") { headers.removeAll() }
    guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { return true }
    headers.append((line[..<colon].lowercased(), AnswerBuffer.trimmed(line[colon...].dropFirst())))
    return true
  }

  private static func trimmed(_ text: Substring) -> String {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0d || byte == 0x0a }
    let rest = text.utf8.drop(while: isSpace)
    guard let last = rest.lastIndex(where: { !isSpace($0) }) else { return "" }
    return String(Substring(rest[...last]))
  }
}
