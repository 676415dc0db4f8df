import CMicroHTTPD
import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// A request and its answer, from the request line until the daemon has finished with it.
///
/// The daemon owns `connection`, which is valid for the same time.
@EventLoop
final class Exchange {
  private enum State {
    case receiving
    /// The body is too large: it is read to its end, dropped, and then refused.
    case discarding(bytes: Int)
    case running
    case answered(HTTPResponse)
    case done
  }

  /// How much of a refused body is read, so that the client can read the answer, before the connection is closed. Bytes.
  private static let discardLimit = 1 << 20

  let connection: OpaquePointer
  private let peerAddress: String
  private let target: String
  private let configuration: HTTPServerConfiguration
  private let onResume: @EventLoop () -> Void
  private var method = ""
  private var headers = HTTPHeaders()
  private var body: [UInt8] = []
  private var state = State.receiving
  private var isSuspended = false

  /// Whether all header fields have been received.
  private(set) var hasHead = false
  /// Whether the bytes of the connection are encrypted.
  var hasTLS = false
  /// Whether the connection is closed after the answer.
  var closesConnection = false

  /// Whether the body is chunked and has not arrived completely.
  var awaitsChunks: Bool {
    switch state {
    case .receiving, .discarding: headers["Transfer-Encoding"] != nil
    case .running, .answered, .done: false
    }
  }

  /// - Parameter onResume: called if the daemon must run because the answer came after the handler had returned.
  init(
    connection: OpaquePointer, peerAddress: String, target: String, configuration: HTTPServerConfiguration,
    onResume: @escaping @EventLoop () -> Void
  ) {
    self.connection = connection
    self.peerAddress = peerAddress
    self.target = target
    self.configuration = configuration
    self.onResume = onResume
  }

  /// Reads and checks the head, into which `method` and `version` point. Returns false to close the connection.
  func receiveHead(method: UnsafePointer<CChar>, version: UnsafePointer<CChar>) -> Bool {
    hasHead = true
    self.method = String(cString: method)
    let head = RequestHead(connection, method: method, target: target, version: version)
    headers = head.headers
    switch head.fault(maximumBytes: configuration.maximumHeaderBytes) {
    case nil: break
    case .malformed?:
      closesConnection = true
      return send(refusal(RequestHead.Fault.malformed.rawValue))
    case .tooLarge? where hasTLS:
      // If the daemon has no memory for the answer, it closes the connection.
      closesConnection = true
      return send(refusal(RequestHead.Fault.tooLarge.rawValue))
    case .tooLarge?:
      sendDirectly(refusal(RequestHead.Fault.tooLarge.rawValue))
      return false
    }
    guard let length = headers["Content-Length"].flatMap({ Int($0) }), length > configuration.maximumBodyBytes
    else { return true }
    if length > Exchange.discardLimit || headers["Expect"] != nil {
      closesConnection = true
      return send(refusal(413))
    }
    state = .discarding(bytes: 0)
    return true
  }

  /// Adds bytes to the body. Returns false to close the connection.
  func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
    switch state {
    case .receiving where body.count + bytes.count <= configuration.maximumBodyBytes:
      body.append(contentsOf: bytes)
    case .receiving:
      body = []
      state = .discarding(bytes: bytes.count)
    case .discarding(let count):
      guard count + bytes.count <= Exchange.discardLimit else { return false }
      state = .discarding(bytes: count + bytes.count)
    case .running, .answered, .done:
      break
    }
    return true
  }

  /// Calls the handler with the complete request, or sends the answer that is ready. Returns false to close the connection.
  func proceed(_ handler: HTTPServer.Handler) -> Bool {
    switch state {
    case .receiving:
      guard let target = HTTPTarget(parsing: target) else { return send(refusal(400)) }
      state = .running
      let request = HTTPRequest(
        method: method, path: target.path, query: target.query, headers: headers, body: body, peerAddress: peerAddress)
      body = []
      handler(request) { self.answer($0) }
      if case .answered(let response) = state { return send(response) }
      isSuspended = true
      MHD_suspend_connection(connection)
      return true
    case .discarding:
      return send(refusal(413))
    case .answered(let response):
      return send(response)
    case .running, .done:
      return true
    }
  }

  /// Takes the answer of the handler. Ignored unless the request waits for one.
  func answer(_ response: HTTPResponse) {
    guard case .running = state else { return }
    state = .answered(response)
    guard isSuspended else { return }
    isSuspended = false
    MHD_resume_connection(connection)
    onResume()
  }

  /// Called when the daemon has finished with the request. `connection` must not be used afterwards.
  func end() {
    state = .done
  }

  private func refusal(_ status: Int) -> HTTPResponse {
    let parsed = HTTPTarget(parsing: target)
    return configuration.refusal(
      status,
      HTTPRequest(
        method: method, path: parsed?.path ?? target, query: parsed?.query ?? [], headers: headers,
        peerAddress: peerAddress))
  }

  /// Sends the answer without the daemon, which after a large head may have no memory for it and would close the connection.
  private func sendDirectly(_ answer: HTTPResponse) {
    state = .done
    let fields = answer.headers + [("Content-Length", "\(answer.body.count)"), ("Connection", "close")]
    let head = "HTTP/1.1 \(answer.status) Refused\r\n" + fields.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n"
    let bytes = Array(head.utf8) + (method == "HEAD" ? [] : answer.body)
    // If the answer does not fit into the socket buffer, the rest is lost. The connection is closed anyway.
    _ = bytes.withUnsafeBytes {
      Glibc.send(
        martlet_connection_descriptor(connection), $0.baseAddress, $0.count,
        Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }
  }

  private func send(_ answer: HTTPResponse) -> Bool {
    state = .done
    var answer = answer
    let response = answer.body.withUnsafeMutableBytes {
      MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
    }
    guard let response else { return false }
    defer { MHD_destroy_response(response) }
    for (name, value) in answer.headers {
      guard MHD_add_response_header(response, name, value) == .YES else { return false }
    }
    if closesConnection, MHD_add_response_header(response, "Connection", "close") != MHD_Result.YES { return false }
    return MHD_queue_response(connection, UInt32(answer.status), response) == .YES
  }
}
