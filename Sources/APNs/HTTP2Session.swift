import CNGHTTP2

/// The client side of HTTP/2, by nghttp2. Converts between bytes and frames, without a socket.
///
/// A push is the user data of its stream; the connection's list of pushes in flight keeps it alive. The class is not
/// isolated, so that nghttp2's callbacks need no executor check per header field. They run only within ``receive(_:)``
/// and ``produce(into:target:)``, on the loop.
final class HTTP2Session {
  private static let maximumBodyBytes = 4096
  /// Bytes that are read of the data of a GOAWAY.
  private static let maximumGoawayBytes = 1024

  private var session: OpaquePointer?
  private let headers: RequestHeaders

  /// Pushes whose stream was closed since the last ``takeEnded()``.
  private var ended: [Push] = []
  /// Number of requests whose payload nghttp2 has not read completely.
  private(set) var unwritten = 0
  /// Bytes of their payloads.
  private var unwrittenBytes = 0
  private(set) var hasSettings = false
  /// The last GOAWAY since ``takeGoaway()``.
  private var goaway: ConnectionEnd?
  private(set) var pongs = 0

  init(authority: String) throws(APNsError) {
    headers = RequestHeaders(authority: authority)
    session = try HTTP2Session.makeSession(userData: Unmanaged.passUnretained(self).toOpaque())
    var settings = [nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0)]
    nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &settings, settings.count)
  }

  deinit {
    nghttp2_session_del(session)
  }

  /// The number of concurrent streams that the server allows; may change at any time.
  var streamLimit: Int {
    Int(nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
  }

  /// Whether nghttp2 wants neither to read nor to write any more.
  var isOver: Bool {
    nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
  }

  /// Bytes of payloads that the server's flow control still takes, beside those that are submitted; negative if these are too many.
  var windowLeft: Int { Int(nghttp2_session_get_remote_window_size(session)) - unwrittenBytes }

  private func markWritten(_ push: Push) {
    unwritten -= 1
    unwrittenBytes -= push.shared.message.payload.count
  }

  /// Returns false if no more streams can be opened on this connection.
  func submit(_ push: Push, authorization: [UInt8]) -> Bool {
    let id = HTTP2Session.submit(push, headers, authorization, to: session)
    guard id > 0 else { return false }
    push.stream = PushStream(id: id)
    unwritten += 1
    unwrittenBytes += push.shared.message.payload.count
    return true
  }

  /// Resets the stream of the push, which ``takeEnded()`` will not return.
  func cancel(_ push: Push) {
    if !push.stream.isWritten { markWritten(push) }
    nghttp2_session_set_stream_user_data(session, push.stream.id, nil)
    nghttp2_submit_rst_stream(
      session, UInt8(NGHTTP2_FLAG_NONE.rawValue), push.stream.id, NGHTTP2_CANCEL.rawValue)
  }

  func ping() {
    nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
  }

  func takeEnded() -> [Push] {
    defer { ended.removeAll(keepingCapacity: false) }
    return ended
  }

  func takeGoaway() -> ConnectionEnd? { goaway.take() }

  func receive(_ bytes: ArraySlice<UInt8>) throws(APNsError) {
    let result = bytes.withUnsafeBufferPointer { nghttp2_session_mem_recv(session, $0.baseAddress, $0.count) }
    guard result >= 0 else { throw .connection(HTTP2Session.describe(result)) }
  }

  /// Appends frames until `buffer` holds `target` bytes or nothing is left to send.
  func produce(into buffer: inout [UInt8], target: Int) throws(APNsError) {
    while buffer.count < target {
      var bytes: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(session, &bytes)
      guard count >= 0 else { throw .connection(HTTP2Session.describe(count)) }
      guard count > 0 else { return }
      buffer.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
    }
  }

  private static func describe(_ code: Int) -> String {
    "HTTP/2: \(String(cString: nghttp2_strerror(Int32(clamping: code))))"
  }
}

// nghttp2's callbacks.
extension HTTP2Session {
  private static func makeSession(userData: UnsafeMutableRawPointer) throws(APNsError) -> OpaquePointer? {
    var callbacks: OpaquePointer?
    var option: OpaquePointer?
    var session: OpaquePointer?
    guard nghttp2_session_callbacks_new(&callbacks) == 0, nghttp2_option_new(&option) == 0 else {
      throw .connection("out of memory")
    }
    defer {
      nghttp2_session_callbacks_del(callbacks)
      nghttp2_option_del(option)
    }
    nghttp2_option_set_no_closed_streams(option, 1)
    // PushStream checks the fields that it reads; nothing else of an answer is used.
    nghttp2_option_set_no_http_messaging(option, 1)
    nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onData)
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrame)
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClose)
    guard nghttp2_session_client_new2(&session, callbacks, userData, option) == 0 else {
      throw .connection("out of memory")
    }
    return session
  }

  private static func submit(
    _ push: Push, _ headers: RequestHeaders, _ authorization: [UInt8], to session: OpaquePointer?
  ) -> Int32 {
    let userData = Unmanaged.passUnretained(push).toOpaque()
    var provider = nghttp2_data_provider(source: nghttp2_data_source(ptr: userData), read_callback: readPayload)
    return headers.with(push, authorization: authorization) { fields, count in
      nghttp2_submit_request(session, nil, fields, count, &provider, userData)
    }
  }

  private static func copy(
    _ payload: [UInt8], from offset: Int, count: Int, to destination: UnsafeMutablePointer<UInt8>
  ) {
    payload.withUnsafeBufferPointer { payload in
      if let base = payload.baseAddress { destination.update(from: base + offset, count: count) }
    }
  }

  private static func push(_ session: OpaquePointer?, _ stream: Int32) -> Push? {
    guard let data = nghttp2_session_get_stream_user_data(session, stream) else { return nil }
    return Unmanaged<Push>.fromOpaque(data).takeUnretainedValue()
  }

  /// Returns whether the name may be `:status`, `retry-after` or `apns-unique-id`. Cheap, for it is called for every
  /// field.
  private static func isAnswerHeader(_ name: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    switch name.pointee {
    case UInt8(ascii: ":"): count == 7
    case UInt8(ascii: "r"): count == 11
    case UInt8(ascii: "a"): count == 14
    default: false
    }
  }

  private static func session(_ userData: UnsafeMutableRawPointer?) -> HTTP2Session? {
    userData.map { Unmanaged<HTTP2Session>.fromOpaque($0).takeUnretainedValue() }
  }

  private static let readPayload: nghttp2_data_source_read_callback = {
    _, _, buffer, capacity, flags, source, userData in
    guard let object = source?.pointee.ptr, let buffer, let flags, let owner = HTTP2Session.session(userData) else {
      return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
    }
    let push = Unmanaged<Push>.fromOpaque(object).takeUnretainedValue()
    let payload = push.shared.message.payload
    let count = min(capacity, payload.count - push.stream.payloadOffset)
    copy(payload, from: push.stream.payloadOffset, count: count, to: buffer)
    push.stream.payloadOffset += count
    if push.stream.payloadOffset == payload.count {
      push.stream.isWritten = true
      owner.markWritten(push)
      flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
    }
    return count
  }

  private static let onHeader: nghttp2_on_header_callback = {
    session, frame, name, nameCount, value, valueCount, _, _ in
    guard let frame, let name, isAnswerHeader(name, nameCount), let push = push(session, frame.pointee.hd.stream_id)
    else { return 0 }
    push.stream.receive(
      name: UnsafeBufferPointer(start: name, count: nameCount),
      value: UnsafeBufferPointer(start: value, count: valueCount))
    return 0
  }

  private static let onData: nghttp2_on_data_chunk_recv_callback = { session, _, id, bytes, count, _ in
    guard let push = push(session, id) else { return 0 }
    let room = maximumBodyBytes - push.stream.body.count
    push.stream.body.append(contentsOf: UnsafeBufferPointer(start: bytes, count: min(count, room)))
    return 0
  }

  private static let onFrame: nghttp2_on_frame_recv_callback = { session, frame, userData in
    guard let frame else { return 0 }
    let header = frame.pointee.hd
    guard let owner = HTTP2Session.session(userData) else { return 0 }
    switch UInt32(header.type) {
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
      guard owner.unwritten > 0, UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 else { return 0 }
      guard let push = push(session, header.stream_id) else { return 0 }
      owner.finishAnswer(of: push)
    case NGHTTP2_SETTINGS.rawValue:
      owner.hasSettings = true
    case NGHTTP2_GOAWAY.rawValue:
      let goaway = frame.pointee.goaway
      let data = UnsafeBufferPointer(
        start: goaway.opaque_data, count: min(goaway.opaque_data_len, HTTP2Session.maximumGoawayBytes))
      owner.goaway = ConnectionEnd(goaway: goaway.error_code, data: Array(data))
    case NGHTTP2_PING.rawValue:
      guard UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue != 0 else { return 0 }
      owner.pongs += 1
    default: break
    }
    return 0
  }

  /// Ends a push whose answer is complete although its request is not: the stream would stay open for the rest of it.
  private func finishAnswer(of push: Push) {
    guard !push.stream.isWritten else { return }
    cancel(push)
    push.stream.end = .finished
    ended.append(push)
  }

  private static let onStreamClose: nghttp2_on_stream_close_callback = { session, id, code, userData in
    guard let push = push(session, id), let owner = HTTP2Session.session(userData) else { return 0 }
    if !push.stream.isWritten { owner.markWritten(push) }
    switch code {
    case NGHTTP2_NO_ERROR.rawValue: push.stream.end = .finished
    case NGHTTP2_REFUSED_STREAM.rawValue: push.stream.end = .refused
    default: push.stream.end = .reset(code)
    }
    owner.ended.append(push)
    return 0
  }
}
