import CNGHTTP2
import HTTPClient
import JSON

#if canImport(Glibc)
  import Glibc
#endif

/// One HTTP/2 connection on which any request can be sent, and which keeps what the server says: for questions that no push asks.
///
/// It blocks, and is used by one thread.
final class GatewayConversation {
  struct Request {
    var method = "POST"
    var path = ""
    var fields: [(name: String, value: String)] = []
    var payload: [UInt8] = []
  }

  struct Reply {
    /// 0 without an answer.
    fileprivate(set) var status = 0
    fileprivate(set) var fields: [(name: String, value: String)] = []
    fileprivate(set) var body: [UInt8] = []
    /// The code of an RST_STREAM.
    fileprivate(set) var reset: UInt32?
    fileprivate var isEnded = false
    fileprivate var unsent: ArraySlice<UInt8> = []

    func value(of name: String) -> String? { fields.first { $0.name == name }?.value }

    /// `200`, `403 MissingProviderToken`, `RST_STREAM 7` or `no answer`.
    var summary: String {
      guard status != 0 else { return reset.map { "RST_STREAM \($0)" } ?? "no answer" }
      return "\(status)" + (RefusalBody(body).reason.map { " \($0)" } ?? "")
    }
  }

  /// What was said beside answers, oldest first.
  private(set) var settings: [[UInt32: UInt32]] = []
  private(set) var windowUpdates: [Int32] = []
  private(set) var pongs = 0
  /// Why the connection has ended; nil while it is open.
  private(set) var end: String?

  private static let readBytes = 32 * 1024
  private let channel: SecureChannel
  private let authority: String
  private var session: OpaquePointer?
  private var replies: [Int32: Reply] = [:]

  /// Connects, and waits for the server's first SETTINGS. Throws if there is no connection within `milliseconds`.
  init(to target: GatewayTarget, milliseconds: Int) throws {
    authority = target.origin.authority
    channel = try SecureChannel(
      to: target.origin.address, authorities: target.authorities, buffers: .full, connectMilliseconds: milliseconds)
    var callbacks: OpaquePointer?
    var option: OpaquePointer?
    defer {
      nghttp2_session_callbacks_del(callbacks)
      nghttp2_option_del(option)
    }
    guard nghttp2_session_callbacks_new(&callbacks) == 0, nghttp2_option_new(&option) == 0 else {
      throw APNsError.connection("out of memory")
    }
    nghttp2_option_set_no_http_messaging(option, 1)
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, GatewayConversation.onFrame)
    nghttp2_session_callbacks_set_on_header_callback(callbacks, GatewayConversation.onHeader)
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, GatewayConversation.onData)
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, GatewayConversation.onClose)
    let userData = Unmanaged.passUnretained(self).toOpaque()
    nghttp2_session_client_new2(&session, callbacks, userData, option)
    nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil, 0)
    wait(milliseconds) { !self.settings.isEmpty }
  }

  deinit { nghttp2_session_del(session) }

  /// Facts of the handshake; nil before something was sent.
  var handshake: SecureChannel.Handshake? { channel.handshake }

  /// Sends a request and waits for its answer.
  func ask(_ request: Request, milliseconds: Int = 20_000) -> Reply {
    let fields =
      [(":method", request.method), (":scheme", "https"), (":authority", authority), (":path", request.path)]
      + request.fields.map { ($0.name, $0.value) }
    var texts = fields.flatMap { [Array($0.0.utf8), Array($0.1.utf8)] }
    var provider = nghttp2_data_provider()
    provider.read_callback = GatewayConversation.readPayload
    let id: Int32 = GatewayConversation.withPointers(&texts) { pointers in
      var values = stride(from: 0, to: pointers.count, by: 2).map { index in
        nghttp2_nv(
          name: pointers[index].baseAddress, value: pointers[index + 1].baseAddress, namelen: pointers[index].count,
          valuelen: pointers[index + 1].count, flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue))
      }
      return request.payload.isEmpty
        ? nghttp2_submit_request(session, nil, &values, values.count, nil, nil)
        : nghttp2_submit_request(session, nil, &values, values.count, &provider, nil)
    }
    guard id > 0 else { return Reply() }
    var reply = Reply()
    reply.unsent = request.payload[...]
    replies[id] = reply
    wait(milliseconds) { self.replies[id]?.isEnded == true }
    return replies[id] ?? Reply()
  }

  /// Sends a PING and waits for its acknowledgement. Returns whether it came.
  func ping(milliseconds: Int = 20_000) -> Bool {
    let before = pongs
    nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
    wait(milliseconds) { self.pongs > before }
    return pongs > before
  }

  /// Reads what comes, for as long.
  func listen(milliseconds: Int) { wait(milliseconds) { false } }

  // MARK: - Bytes

  private func wait(_ milliseconds: Int, until isDone: () -> Bool) {
    let deadline = ContinuousClock.now + .milliseconds(milliseconds)
    var buffer = [UInt8](repeating: 0, count: GatewayConversation.readBytes)
    while end == nil, !isDone(), ContinuousClock.now < deadline {
      write()
      switch channel.receive(into: &buffer) {
      case .bytes(let count):
        let read = buffer[..<count].withUnsafeBufferPointer {
          nghttp2_session_mem_recv(session, $0.baseAddress, $0.count)
        }
        if read < 0 { end = "HTTP/2: \(String(cString: nghttp2_strerror(Int32(clamping: read))))" }
      case .wouldBlock:
        var poll = pollfd(descriptor: channel.descriptor)
        _ = Glibc.poll(&poll, 1, 100)
      case .ended(let reason):
        end = reason
      }
    }
  }

  private func write() {
    var output: [UInt8] = []
    var bytes: UnsafePointer<UInt8>?
    while case let count = nghttp2_session_mem_send(session, &bytes), count > 0 {
      output.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
    }
    var rest = output[...]
    while !rest.isEmpty, end == nil {
      switch channel.send(rest) {
      case .bytes(let count): rest = rest.dropFirst(count)
      case .wouldBlock:
        var poll = pollfd(descriptor: channel.descriptor, events: Int16(POLLOUT))
        _ = Glibc.poll(&poll, 1, 100)
      case .ended(let reason): end = reason
      }
    }
  }

  private static func withPointers<Result>(
    _ texts: inout [[UInt8]], _ body: ([UnsafeMutableBufferPointer<UInt8>]) -> Result
  ) -> Result {
    let pointers = texts.map { text in
      let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, text.count))
      return UnsafeMutableBufferPointer(rebasing: copy[..<copy.initialize(fromContentsOf: text)])
    }
    defer { for pointer in pointers { pointer.baseAddress?.deallocate() } }
    return body(pointers)
  }

  // MARK: - Calls of nghttp2

  private static func owner(_ userData: UnsafeMutableRawPointer?) -> GatewayConversation? {
    userData.map { Unmanaged<GatewayConversation>.fromOpaque($0).takeUnretainedValue() }
  }

  private static let onFrame: nghttp2_on_frame_recv_callback = { _, frame, userData in
    guard let frame, let owner = owner(userData) else { return 0 }
    let header = frame.pointee.hd
    switch UInt32(header.type) {
    case NGHTTP2_SETTINGS.rawValue where UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue == 0:
      let settings = frame.pointee.settings
      var values: [UInt32: UInt32] = [:]
      for entry in UnsafeBufferPointer(start: settings.iv, count: settings.niv) {
        values[UInt32(bitPattern: entry.settings_id)] = entry.value
      }
      owner.settings.append(values)
    case NGHTTP2_WINDOW_UPDATE.rawValue where header.stream_id == 0:
      owner.windowUpdates.append(frame.pointee.window_update.window_size_increment)
    case NGHTTP2_PING.rawValue where UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue != 0: owner.pongs += 1
    case NGHTTP2_GOAWAY.rawValue:
      let goaway = frame.pointee.goaway
      let data = UnsafeBufferPointer(start: goaway.opaque_data, count: min(goaway.opaque_data_len, 1024))
      owner.end = ConnectionEnd(goaway: goaway.error_code, data: Array(data)).text
    default: break
    }
    return 0
  }

  private static let onHeader: nghttp2_on_header_callback = {
    _, frame, name, nameCount, value, valueCount, _, userData in
    guard let frame, let owner = owner(userData) else { return 0 }
    let name = String(decoding: UnsafeBufferPointer(start: name, count: nameCount), as: UTF8.self)
    let value = String(decoding: UnsafeBufferPointer(start: value, count: valueCount), as: UTF8.self)
    let id = frame.pointee.hd.stream_id
    if name == ":status" { owner.replies[id]?.status = value.integer(in: 0...999) ?? 0 }
    owner.replies[id]?.fields.append((name, value))
    return 0
  }

  private static let onData: nghttp2_on_data_chunk_recv_callback = { _, _, id, bytes, count, userData in
    owner(userData)?.replies[id]?.body.append(contentsOf: UnsafeBufferPointer(start: bytes, count: min(count, 4096)))
    return 0
  }

  private static let onClose: nghttp2_on_stream_close_callback = { _, id, code, userData in
    guard let owner = owner(userData) else { return 0 }
    owner.replies[id]?.isEnded = true
    if code != NGHTTP2_NO_ERROR.rawValue { owner.replies[id]?.reset = code }
    return 0
  }

  private static let readPayload: nghttp2_data_source_read_callback = { _, id, buffer, capacity, flags, _, userData in
    guard let buffer, let flags, let owner = owner(userData), let reply = owner.replies[id] else {
      return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
    }
    let part = reply.unsent.prefix(capacity)
    UnsafeMutableRawBufferPointer(start: buffer, count: capacity).copyBytes(from: part)
    owner.replies[id]?.unsent = reply.unsent.dropFirst(part.count)
    if part.count == reply.unsent.count { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return part.count
  }
}

extension pollfd {
  fileprivate init(descriptor: Int32, events: Int16 = Int16(POLLIN)) {
    self.init(fd: descriptor, events: events, revents: 0)
  }
}
