import CMicroHTTPD
import JSON

/// The request line and the header fields of a request, checked as strictly as RFC 9112 allows.
///
/// libmicrohttpd accepts text that a proxy may read differently: white space before a colon, folded fields, NUL, a bare LF or
/// CR. Its strict mode (`MHD_OPTION_STRICT_FOR_CLIENT`) only adds refusals of a missing Host, in HTML, and of spaces in a
/// target, without an answer. So the server checks the bytes: the daemon keeps the head in one block of memory and
/// overwrites separators with zeros (CR and LF, the first colon of a line, the spaces of the request line). In a well-formed
/// head the fields that the daemon reports therefore follow one another, with two zeros after each.
/// One case remains undetected: CR LF and NUL LF look the same.
struct RequestHead {
  enum Fault: Int {
    case malformed = 400
    case tooLarge = 431
  }

  /// The number of header fields of one request.
  static let maximumFields = 100

  private static let versionCount = "HTTP/1.1".utf8.count

  let headers: HTTPHeaders
  /// The head in the memory of the daemon, with its zeros.
  private let bytes: [UInt8]
  private let method: Range<Int>
  /// The target before the daemon decoded it.
  private let target: String
  private let version: Range<Int>
  private let fields: [Field]

  /// Copies the head that `connection` has read. `method` and `version`, arguments of the daemon, point into it.
  init(
    _ connection: OpaquePointer, method: UnsafePointer<CChar>, target: String, version: UnsafePointer<CChar>
  ) {
    let start = UnsafeRawPointer(method)
    bytes = Array(UnsafeRawBufferPointer(start: start, count: martlet_connection_head_size(connection)))
    self.method = 0..<(bytes.firstIndex(of: 0) ?? 0)
    self.target = target
    let versionStart = UnsafeRawPointer(version) - start
    self.version = versionStart..<(versionStart + RequestHead.versionCount)
    let list = FieldList(of: connection, start: start)
    headers = list.headers
    fields = list.fields
  }

  /// About the memory of the target and of ``headers``.
  var chargedBytes: Int { 2 * bytes.count }

  /// Returns the fault of the head, or nil. `maximumBytes` is the limit of the whole head.
  func fault(maximumBytes: Int) -> Fault? {
    if fields.count > RequestHead.maximumFields || bytes.count > maximumBytes { return .tooLarge }
    guard isRequestLineWellFormed, areFieldsWellFormed, isHostWellFormed else { return .malformed }
    return BodyFraming.isUnambiguous(headers, isHTTP10: isHTTP10) ? nil : .malformed
  }

  /// A method, one space, a target, one space, a version, and CR LF.
  private var isRequestLineWellFormed: Bool {
    !method.isEmpty && bytes[method].allSatisfy(RequestHead.isTokenByte)
      && target.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
      && version.lowerBound == method.upperBound + 1 + target.utf8.count + 1
      && isLineEnd(at: version.upperBound)
  }

  /// Each line is a name, a colon, a value, and CR LF. An empty line follows, and nothing after it.
  private var areFieldsWellFormed: Bool {
    var position = version.upperBound + 2
    for field in fields {
      let (name, value) = (field.name, field.value)
      guard name.lowerBound == position, !name.isEmpty, value.lowerBound > name.upperBound,
        value.upperBound <= bytes.count, isLineEnd(at: value.upperBound),
        bytes[name].allSatisfy(RequestHead.isTokenByte), bytes[value].allSatisfy(RequestHead.isValueByte),
        bytes[(name.upperBound + 1)..<value.lowerBound].allSatisfy({ $0 == 0x20 || $0 == 0x09 })
      else { return false }
      position = value.upperBound + 2
    }
    return isLineEnd(at: position) && position + 2 == bytes.count
  }

  /// Exactly one Host; it may be missing in HTTP/1.0.
  private var isHostWellFormed: Bool {
    let hosts = headers.values(of: "host")
    guard hosts.count == 1 else { return hosts.isEmpty && isHTTP10 }
    return hosts[0].utf8.allSatisfy { RequestHead.isAlphanumeric($0) || "-._~%!$&'()*+,;=:[]".utf8.contains($0) }
  }

  private var isHTTP10: Bool {
    version.upperBound <= bytes.count && bytes[version.upperBound - 1] == UInt8(ascii: "0")
  }

  private func isLineEnd(at position: Int) -> Bool {
    position + 2 <= bytes.count && bytes[position] == 0 && bytes[position + 1] == 0
  }

  /// RFC 9110, 5.6.2.
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    isAlphanumeric(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "a")...UInt8(ascii: "z"): true
    default: false
    }
  }

  /// RFC 9110, 5.5.
  private static func isValueByte(_ byte: UInt8) -> Bool {
    (byte >= 0x20 && byte != 0x7F) || byte == 0x09
  }
}

/// The offsets of a field in the head. They lie outside of it if the daemon has moved the field.
private struct Field {
  let name: Range<Int>
  let value: Range<Int>
}

/// Copies the fields while the daemon lists them.
private struct FieldList {
  let start: UnsafeRawPointer?
  private(set) var headers = HTTPHeaders()
  private(set) var fields: [Field] = []

  /// `start`: of the head in the memory of the daemon.
  init(of connection: OpaquePointer, start: UnsafeRawPointer?) {
    self.start = start
    withUnsafeMutablePointer(to: &self) { list in
      _ = MHD_get_connection_values_n(
        connection, .HEADER_KIND,
        { list, _, name, nameCount, value, valueCount in
          guard let list = list?.assumingMemoryBound(to: FieldList.self) else { return .NO }
          list.pointee.append(
            UnsafeRawBufferPointer(start: name, count: name == nil ? 0 : nameCount),
            UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueCount))
          return .YES
        }, list)
    }
  }

  private mutating func append(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    headers.append(String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
    guard let start else { return }
    fields.append(Field(name: range(of: name, start), value: range(of: value, start)))
  }

  private func range(of text: UnsafeRawBufferPointer, _ start: UnsafeRawPointer) -> Range<Int> {
    let offset = text.baseAddress.map { $0 - start } ?? 0
    return offset..<(offset + text.count)
  }
}

/// Why the daemon answers a head that it has read completely itself, and the reason phrase of the answer.
enum UnparsedHead: String {
  case malformedLength = "Content-Length is not a number"
  case largeLength = "Content-Length is too large"
  case largeCookie = "Cookie is too large"

  /// `connection`: one whose head the daemon could not parse.
  init(_ connection: OpaquePointer) {
    let lengths = FieldList(of: connection, start: nil).headers.values(of: "content-length")
    if !lengths.allSatisfy(BodyFraming.isLength) {
      self = .malformedLength
    } else {
      self = lengths.allSatisfy { $0.integer(in: 0...Int.max) != nil } ? .largeCookie : .largeLength
    }
  }

  var status: Int {
    switch self {
    case .malformedLength: 400
    case .largeLength: 413
    case .largeCookie: 431
    }
  }
}

/// How a request states where its body ends.
enum BodyFraming {
  /// Whether every server finds the same end. Otherwise a proxy could be made to pass a second request hidden in the body
  /// (RFC 9112, 6.1, 6.3 and 11.2).
  static func isUnambiguous(_ headers: HTTPHeaders, isHTTP10: Bool) -> Bool {
    let lengths = headers.values(of: "content-length")
    let codings = headers.values(of: "transfer-encoding")
    guard !codings.isEmpty else { return lengths.allSatisfy { $0 == lengths[0] && isLength($0) } }
    return !isHTTP10 && lengths.isEmpty && codings.count == 1 && codings[0].lowercased() == "chunked"
  }

  /// Returns the length of the body, 0 without one; `Int.max` if it is larger, nil for a chunked body. Of headers that are
  /// unambiguous.
  static func length(_ headers: HTTPHeaders) -> Int? {
    guard headers["transfer-encoding"] == nil else { return nil }
    return headers["content-length"].map { $0.integer(in: 0...Int.max) ?? .max } ?? 0
  }

  static func isLength(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}
