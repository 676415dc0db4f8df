import CMicroHTTPD
import EventLoop
import JSON

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
    /// The body has turned out too large: it is read to its end, dropped, and then refused.
    case discarding(bytes: Int)
    /// The connection is closed before the request has arrived.
    case abandoned
    case running
    case answered(HTTPResponse)
    case done
  }

  /// How much of a refused body is read, so that the client can read the answer, before the connection is closed. Bytes.
  private static let discardLimit = 1 << 20

  let connection: OpaquePointer
  private let target: String
  private let configuration: HTTPServerConfiguration
  private let onResume: @EventLoop () -> Void
  /// Without the body. If the target is malformed, its path is the whole target.
  private var request: HTTPRequest
  private var isTargetMalformed = false
  private var body: [UInt8] = []
  /// As the head says: nil for a chunked body.
  private var bodyLength: Int? = 0
  private var maximumBodyBytes = 0
  private var state = State.receiving
  private var isSuspended = false

  /// Whether all header fields have been received.
  private(set) var hasHead = false
  /// Whether the handler gets the request without its body.
  private(set) var isHeadEnough = false
  /// Whether the client may still be sending the body when the connection closes.
  private(set) var leavesBody = false
  private var headBytes = 0
  /// Nil unless the body is chunked.
  private var framing: ChunkFraming?
  /// Whether the bytes of the connection are encrypted.
  var hasTLS = false
  /// Whether the connection is closed after the answer.
  var closesConnection = false

  /// The memory of the request.
  var chargedBytes: Int { headBytes + body.capacity }

  /// Whether the body is chunked and has not arrived completely.
  var awaitsChunks: Bool {
    switch state {
    case .receiving, .discarding: framing != nil
    case .abandoned, .running, .answered, .done: false
    }
  }

  /// - Parameter onResume: called if the daemon must run because the answer came after the handler had returned.
  init(
    connection: OpaquePointer, peer: ClientAddress, target: String, configuration: HTTPServerConfiguration,
    onResume: @escaping @EventLoop () -> Void
  ) {
    self.connection = connection
    self.target = target
    request = HTTPRequest(method: "", path: target, peer: peer)
    self.configuration = configuration
    self.onResume = onResume
  }

  /// Reads and checks the head, into which `method` and `version` point. Returns false to close the connection.
  func receiveHead(method: UnsafePointer<CChar>, version: UnsafePointer<CChar>) -> Bool {
    hasHead = true
    let head = RequestHead(connection, method: method, target: target, version: version)
    let parsed = HTTPTarget(parsing: target)
    isTargetMalformed = parsed == nil
    request = HTTPRequest(
      method: String(cString: method), path: parsed?.path ?? target, query: parsed?.query ?? [], headers: head.headers,
      peer: request.peer)
    headBytes = head.chargedBytes
    if head.headers["transfer-encoding"] != nil { framing = ChunkFraming(connection, method: method) }
    switch head.fault(maximumBytes: configuration.maximumHeaderBytes) {
    case nil: break
    case .malformed?:
      return close(RequestHead.Fault.malformed.rawValue)
    case .tooLarge? where hasTLS:
      // If the daemon has no memory for the answer, it closes the connection.
      return close(RequestHead.Fault.tooLarge.rawValue)
    case .tooLarge?:
      sendDirectly(refusal(RequestHead.Fault.tooLarge.rawValue))
      return false
    }
    return judgeBody()
  }

  /// Refuses a head that the daemon has read and cannot parse. The daemon says so before it answers, and 0.9.75 writes the
  /// head of its answer twice then; so the connection takes nothing more from it. Does nothing for another head.
  func refuseUnparsedHead() {
    guard !hasHead, martlet_connection_head_size(connection) > 0 else { return }
    hasHead = true
    leavesBody = true
    let fault = UnparsedHead(connection)
    // The method is not known: an answer to HEAD has no body.
    if !hasTLS { sendDirectly(HTTPResponse(status: fault.status, body: []), reason: fault.rawValue) }
    _ = shutdown(martlet_connection_descriptor(connection), Int32(SHUT_WR))
  }

  /// Decides whether the body is read. Returns false to close the connection.
  private func judgeBody() -> Bool {
    bodyLength = BodyFraming.length(request.headers)
    guard bodyLength != 0 else { return true }
    leavesBody = true
    maximumBodyBytes = configuration.maximumBodyBytes
    if bodyLength ?? .max > maximumBodyBytes {
      maximumBodyBytes = max(maximumBodyBytes, configuration.largerBodyLimit(request) ?? 0)
    }
    guard maximumBodyBytes > 0, bodyLength ?? 0 <= maximumBodyBytes else { return close(413) }
    guard !isTargetMalformed else { return close(400) }
    isHeadEnough = !configuration.needsBody(request)
    if isHeadEnough { closesConnection = true } else { leavesBody = false }
    return true
  }

  /// Adds bytes to the body. Returns false to close the connection.
  func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
    switch state {
    case .receiving where !isFramed(bytes): return false
    case .receiving where body.count + bytes.count <= maximumBodyBytes:
      makeRoom(for: bytes.count)
      body.append(contentsOf: bytes)
    case .receiving:
      body = []
      state = .discarding(bytes: bytes.count)
    case .discarding(let count):
      guard count + bytes.count <= Exchange.discardLimit else { return false }
      state = .discarding(bytes: count + bytes.count)
    case .abandoned:
      return false
    case .running, .answered, .done:
      break
    }
    return true
  }

  /// Makes room for what has arrived and for as much again: a large body that does not come takes little memory.
  private func makeRoom(for count: Int) {
    let needed = body.count + count
    guard needed > body.capacity else { return }
    let room = max(2 * needed, HTTPServerConfiguration.usualBodyBytes)
    body.reserveCapacity(max(needed, min(room, bodyLength ?? maximumBodyBytes)))
  }

  /// Checks the lines of chunks before `bytes`. Returns false to close the connection, after a refusal.
  private func isFramed(_ bytes: UnsafeRawBufferPointer) -> Bool {
    switch framing?.fault(before: bytes, limit: maximumBodyBytes - body.count) {
    case nil: return true
    case .malformed?: refuseBody(400)
    case .tooLarge?: refuseBody(413)
    }
    return false
  }

  /// Refuses a request in its body, where the daemon sends no answer.
  private func refuseBody(_ status: Int) {
    leavesBody = true
    body = []
    if !hasTLS { sendDirectly(refusal(status)) }
  }

  /// Gives up a request that has not arrived. The caller closes the connection.
  func abandon() {
    state = .abandoned
    body = []
  }

  /// Calls the handler with the complete request, or sends the answer that is ready. Returns false to close the connection.
  func proceed(_ handler: HTTPServer.Handler) -> Bool {
    switch state {
    case .receiving:
      guard !isTargetMalformed else { return send(refusal(400)) }
      state = .running
      handler(complete()) { self.answer($0) }
      if case .answered(let response) = state { return send(response) }
      isSuspended = true
      MHD_suspend_connection(connection)
      return true
    case .discarding:
      return send(refusal(413))
    case .answered(let response):
      return send(response)
    case .abandoned:
      return false
    case .running, .done:
      return true
    }
  }

  /// Returns the request with its body, which only the handler keeps.
  private func complete() -> HTTPRequest {
    var complete = request
    complete.body = body
    body = []
    return complete
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

  /// Refuses the request, and closes the connection after the answer.
  private func close(_ status: Int) -> Bool {
    closesConnection = true
    return send(refusal(status))
  }

  private func refusal(_ status: Int) -> HTTPResponse { configuration.refusal(status, request) }

  /// Sends the answer without the daemon, which after a large head may have no memory for it and would close the connection.
  private func sendDirectly(_ answer: HTTPResponse, reason: String = "Refused") {
    state = .done
    let fields = answer.headers + [("Content-Length", "\(answer.body.count)"), ("Connection", "close")]
    let head =
      "HTTP/1.1 \(answer.status) \(reason)\r\n" + fields.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n"
    let bytes = Array(head.utf8) + (request.method == "HEAD" ? [] : answer.body)
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
    if closesConnection { answer.headers.append(("Connection", "close")) }
    guard let response = answer.copied() else { return false }
    defer { MHD_destroy_response(response) }
    return MHD_queue_response(connection, UInt32(answer.status), response) == .YES
  }
}
