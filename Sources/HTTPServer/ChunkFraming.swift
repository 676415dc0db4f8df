import CMicroHTTPD

/// The lines between the data of a chunked body.
///
/// libmicrohttpd reads them, and accepts a bare LF, where a proxy may not see the end of a line. It passes on the data alone,
/// but the lines stand before it in the same memory if they have arrived together. Lines without data behind them are not
/// checked: those that arrive apart from it, and those behind the last data.
struct ChunkFraming {
  enum Fault {
    case malformed
    /// The chunk exceeds the limit of the body.
    case tooLarge
  }

  private static let (cr, lf) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))

  /// Where the daemon puts what follows the head. Valid as long as the request.
  private let start: UnsafeRawPointer

  /// `method`, an argument of the daemon, points to the head of the request.
  init(_ connection: OpaquePointer, method: UnsafePointer<CChar>) {
    start = UnsafeRawPointer(method) + martlet_connection_head_size(connection)
  }

  /// Returns the fault of the lines before `data`, which the daemon has just passed on. `limit`: bytes.
  func fault(before data: UnsafeRawBufferPointer, limit: Int) -> Fault? {
    guard let base = data.baseAddress else { return nil }
    // The data of a chunk whose size has been read before.
    guard base > start else { return nil }
    let before = UnsafeRawBufferPointer(start: start, count: base - start)
    guard before.count >= 2, ChunkFraming.endsLine(before) else { return .malformed }
    let earlier = before.dropLast(2)
    let lineStart = (earlier.lastIndex(of: ChunkFraming.lf) ?? earlier.startIndex - 1) + 1
    // The line end behind the chunk before.
    if lineStart > 0, !ChunkFraming.endsLine(UnsafeRawBufferPointer(rebasing: before[..<lineStart])) {
      return .malformed
    }
    let digits = before[lineStart...].prefix { $0 != ChunkFraming.cr && $0 != UInt8(ascii: ";") }
    let size = Int(String(decoding: digits, as: UTF8.self), radix: 16) ?? .max
    return size > limit ? .tooLarge : nil
  }

  private static func endsLine(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count >= 2 && bytes[bytes.count - 1] == lf && bytes[bytes.count - 2] == cr
  }
}
