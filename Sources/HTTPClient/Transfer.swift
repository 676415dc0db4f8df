import CCurl
import COpenSSL
import EventLoop

/// libcurl's handle of an ``HTTPClient``, with its open connections.
///
/// `@unchecked`: used only on the client's queue, and released after its last use there.
final class Transfer: @unchecked Sendable {
  private typealias WriteFunction =
    @convention(c) (
      UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?
    ) -> Int

  private let authorities: TrustedCertificates?
  private var handle: UnsafeMutableRawPointer?

  init(authorities: TrustedCertificates?) {
    self.authorities = authorities
  }

  deinit {
    if let handle { curl_easy_cleanup(handle) }
  }

  /// Sends a request and reads its answer. Blocks for at most the call's timeout.
  func run(_ call: HTTPCall) throws(HTTPClientError) -> HTTPAnswer {
    try HTTPCall.check(url: call.url)
    let lines = try call.headerLines()
    guard let handle = handle ?? Curl.makeHandle() else { throw .connection("libcurl could not be initialised") }
    self.handle = handle
    // Connections stay open.
    curl_easy_reset(handle)
    let trust = call.isLocal ? nil : try TrustStore.shared(Curl.systemAuthorities(handle), and: authorities)
    let answer = AnswerBuffer(maximumBodyBytes: call.maximumAnswerBytes)
    var fields: UnsafeMutablePointer<curl_slist>?
    defer { curl_slist_free_all(fields) }
    for line in lines {
      guard let longer = curl_slist_append(fields, line) else { throw .connection("out of memory") }
      fields = longer
    }
    try Transfer.configure(handle, call, fields)
    try Transfer.connect(handle, to: answer, trust)
    let (code, reason) = Curl.perform(handle)
    // libcurl has unretained pointers to them during the transfer.
    withExtendedLifetime((answer, trust)) {}
    if answer.hasTooLargeHead { throw .connection("the head of the answer is too large") }
    guard code == CURLE_OK || answer.isTruncated else { throw Curl.error(code, reason) }
    var status = 0
    martlet_curl_get_status(handle, &status)
    return HTTPAnswer(
      status: status, headers: answer.headers, body: answer.body, isTruncated: answer.isTruncated)
  }

  private static func configure(
    _ handle: UnsafeMutableRawPointer, _ call: HTTPCall, _ fields: UnsafeMutablePointer<curl_slist>?
  ) throws(HTTPClientError) {
    let milliseconds = max(1, Int(call.timeout.milliseconds))
    let version = call.prefersHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1
    var codes = [
      martlet_curl_set_string(handle, CURLOPT_PROTOCOLS_STR, "http,https"),
      martlet_curl_set_string(handle, CURLOPT_USERAGENT, "martlet"),
      martlet_curl_set_pointer(handle, CURLOPT_HTTPHEADER, fields),
      martlet_curl_set_long(handle, CURLOPT_HTTP_VERSION, Int(version)),
      martlet_curl_set_long(handle, CURLOPT_TIMEOUT_MS, milliseconds),
      // The answer of a proxy to CONNECT is not the server's.
      martlet_curl_set_long(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
    ]
    if call.isLocal {
      codes.append(martlet_curl_set_string(handle, CURLOPT_NOPROXY, "*"))
      codes.append(martlet_curl_set_string(handle, CURLOPT_UNIX_SOCKET_PATH, call.socketPath))
    }
    if call.method == .get {
      codes.append(martlet_curl_set_long(handle, CURLOPT_HTTPGET, 1))
    } else {
      codes.append(martlet_curl_set_long(handle, CURLOPT_POST, 1))
      codes.append(martlet_curl_set_string(handle, CURLOPT_CUSTOMREQUEST, call.method.rawValue))
      codes.append(martlet_curl_set_long(handle, CURLOPT_POSTFIELDSIZE, call.body.count))
      codes.append(call.body.withUnsafeBytes { Transfer.copy($0, to: handle) })
    }
    try Curl.configure(handle, url: call.url, connectMilliseconds: milliseconds, codes)
  }

  /// Gives libcurl a copy of a body. Without a pointer it would read the body by a function.
  private static func copy(_ body: UnsafeRawBufferPointer, to handle: UnsafeMutableRawPointer) -> CURLcode {
    guard body.count > 0 else { return martlet_curl_set_string(handle, CURLOPT_COPYPOSTFIELDS, "") }
    return martlet_curl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, .init(mutating: body.baseAddress))
  }

  /// Says where the answer goes and who is trusted.
  private static func connect(
    _ handle: UnsafeMutableRawPointer, to answer: AnswerBuffer, _ trust: TrustStore?
  ) throws(HTTPClientError) {
    let buffer = Unmanaged.passUnretained(answer).toOpaque()
    try Curl.check([
      martlet_curl_set_data_function(handle, CURLOPT_WRITEFUNCTION, onBody),
      martlet_curl_set_pointer(handle, CURLOPT_WRITEDATA, buffer),
      martlet_curl_set_data_function(handle, CURLOPT_HEADERFUNCTION, onHeader),
      martlet_curl_set_pointer(handle, CURLOPT_HEADERDATA, buffer),
      martlet_curl_set_ssl_context_function(handle) { _, context, trust in Transfer.use(trust, in: context) },
      martlet_curl_set_pointer(handle, CURLOPT_SSL_CTX_DATA, trust.map { Unmanaged.passUnretained($0).toOpaque() }),
    ])
  }

  private static func use(_ trust: UnsafeMutableRawPointer?, in context: UnsafeMutableRawPointer?) -> CURLcode {
    guard let trust else { return CURLE_SSL_CONNECT_ERROR }
    Unmanaged<TrustStore>.fromOpaque(trust).takeUnretainedValue().use(in: OpaquePointer(context))
    return CURLE_OK
  }

  private static let onBody: WriteFunction = { bytes, size, count, buffer in
    guard let buffer else { return 0 }
    let answer = Unmanaged<AnswerBuffer>.fromOpaque(buffer).takeUnretainedValue()
    return answer.append(body: UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
  }

  private static let onHeader: WriteFunction = { bytes, size, count, buffer in
    guard let buffer else { return 0 }
    let answer = Unmanaged<AnswerBuffer>.fromOpaque(buffer).takeUnretainedValue()
    return answer.append(headerLine: UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
  }
}
