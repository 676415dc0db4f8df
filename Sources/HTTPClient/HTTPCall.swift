/// One request.
public struct HTTPCall: Sendable {
  public enum Method: String, Sendable {
    case post = "POST"
    case put = "PUT"
    case delete = "DELETE"
    /// Without a body.
    case get = "GET"
  }

  public var method = Method.post
  /// Whether HTTP/2 is asked for. A server that does not speak it answers with HTTP/1.1.
  public var prefersHTTP2 = false
  /// http or https.
  public var url: String
  /// Field names must be tokens; a value must not contain CR, LF or NUL.
  public var headers: [(name: String, value: String)]
  public var body: [UInt8]
  /// From the call until the answer is complete: DNS, connecting, TLS and the transfer.
  public var timeout: Duration
  /// What exceeds this of the answer's body is not read, and the connection is closed.
  public var maximumAnswerBytes: Int
  /// Whether the server is one of this machine that speaks plain HTTP. No proxy and no certificate is used.
  public var isLocal = false
  /// The unix socket of that server, in place of the host of the URL.
  public var socketPath: String?

  public init(url: String, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.url = url
    self.headers = headers
    self.body = body
    timeout = .seconds(10)
    maximumAnswerBytes = 65_536
  }

  /// Throws ``HTTPClientError/configuration(_:)`` if `url` is not a complete URL of http or https.
  ///
  /// The error does not quote the URL, because it may contain a password.
  public static func check(url: String) throws(HTTPClientError) {
    let isPrintable = url.utf8.allSatisfy { $0 > UInt8(ascii: " ") && $0 != 0x7f }
    guard isPrintable, url.contains("://"), let address = WebAddress(url), !address.host.isEmpty else {
      throw .configuration("it is not a URL; expected https://host/path")
    }
    guard address.scheme == "https" || address.scheme == "http" else {
      throw .configuration("its scheme is \(address.scheme); expected https://host/path or http://host/path")
    }
  }

  /// Returns the header fields as lines, and removes the fields that libcurl adds by default.
  func headerLines() throws(HTTPClientError) -> [String] {
    // libcurl would wait for the server's consent before a large body, and name the type of a form.
    var lines = ["Expect:"]
    if !headers.contains(where: { $0.name.lowercased() == "content-type" }) { lines.append("Content-Type:") }
    for (name, value) in headers {
      guard HTTPCall.isHeader(name: name) else { throw .configuration("the name of a header field is not a token") }
      guard HTTPCall.isHeader(value: value) else {
        throw .configuration("the value of the header field \(name) contains a line end or NUL")
      }
      // "Name:" alone would remove the field.
      lines.append(value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 } ? "\(name);" : "\(name): \(value)")
    }
    return lines
  }

  /// Returns whether `value` contains no line end and no NUL.
  public static func isHeader(value: String) -> Bool {
    !value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 }
  }

  /// Returns whether `name` is a token of RFC 9110.
  public static func isHeader(name: String) -> Bool {
    let special: [UInt8] = Array("!#$%&'*+-.^_`|~".utf8)
    return !name.isEmpty
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: special.contains(byte)
        }
      }
  }
}
