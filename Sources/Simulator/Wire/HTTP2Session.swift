import CNGHTTP2
import EventLoop

/// The server side of HTTP/2, by nghttp2. Converts between bytes and calls to its connection, without a socket.
@EventLoop
final class HTTP2Session {
  /// Receive window of a connection, in bytes; large enough not to delay a push.
  private static let connectionWindow: Int32 = 1 << 20
  /// That of a stream, and of a connection with `--apple`, is HTTP/2's default.
  static let defaultWindow = 65_535

  private let session: OpaquePointer
  /// Receives the calls, and owns this session.
  private unowned let connection: Connection

  /// Returns nil if memory is exhausted.
  init?(connection: Connection, maximumStreams: Int, isLikeApple: Bool) {
    var made: OpaquePointer?
    var callbacks: OpaquePointer?
    var options: OpaquePointer?
    defer {
      nghttp2_session_callbacks_del(callbacks)
      nghttp2_option_del(options)
    }
    guard nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks, nghttp2_option_new(&options) == 0 else {
      return nil
    }
    HTTP2Session.set(callbacks)
    nghttp2_option_set_no_auto_ping_ack(options, 1)
    nghttp2_option_set_no_closed_streams(options, 1)
    // The connection gives the bytes free, after the round trip that is added.
    nghttp2_option_set_no_auto_window_update(options, isLikeApple ? 1 : 0)
    let context = Unmanaged.passUnretained(connection).toOpaque()
    guard nghttp2_session_server_new2(&made, callbacks, context, options) == 0, let made else { return nil }
    session = made
    self.connection = connection
    setMaximumStreams(maximumStreams)
    if !isLikeApple { nghttp2_session_set_local_window_size(session, 0, 0, HTTP2Session.connectionWindow) }
  }

  isolated deinit {
    nghttp2_session_del(session)
  }

  /// Whether nghttp2 wants neither to read nor to write any more.
  var isFinished: Bool { nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0 }

  /// Returns false if the bytes are not HTTP/2, or if the connection is to be closed.
  func receive(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    nghttp2_session_mem_recv(session, bytes.baseAddress, bytes.count) == bytes.count
  }

  /// Appends frames until there are `count` bytes or no more frames.
  func appendOutput(to buffer: inout [UInt8], upTo count: Int) {
    while buffer.count < count {
      var frame: UnsafePointer<UInt8>?
      let size = nghttp2_session_mem_send(session, &frame)
      guard size > 0, let frame else { return }
      buffer.append(contentsOf: UnsafeBufferPointer(start: frame, count: size))
    }
  }

  /// Each change has the full set, as Apple's.
  func setMaximumStreams(_ count: Int) {
    let values: [(id: nghttp2_settings_id, value: UInt32)] = [
      (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 4096), (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, UInt32(clamping: count)),
      (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, UInt32(HTTP2Session.defaultWindow)),
      (NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 16384),
      (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, UInt32(GatewaySettings.maximumHeaderList)),
    ]
    let entries = values.map { nghttp2_settings_entry(settings_id: Int32($0.id.rawValue), value: $0.value) }
    nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
  }

  /// Gives the bytes of a stream free at once.
  func consume(_ count: Int, of stream: Int32) { nghttp2_session_consume_stream(session, stream, count) }

  /// Gives bytes of the connection free. A WINDOW_UPDATE follows when half of the window is.
  func consume(_ count: Int) { nghttp2_session_consume_connection(session, count) }

  /// Answers with status 200 and no body. `uniqueID` is empty except in the sandbox.
  func accept(_ id: Int32, pushID: UnsafeBufferPointer<UInt8>, uniqueID: UnsafeBufferPointer<UInt8>) {
    withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: 3) { fields in
      fields[0] = field(":status", "200")
      fields[1] = field("apns-id", pushID)
      fields[2] = field("apns-unique-id", uniqueID)
      nghttp2_submit_response(session, id, fields.baseAddress, uniqueID.isEmpty ? 2 : 3, nil)
    }
  }

  /// Answers with a refusal, or to a request about channels. The body is read from the connection.
  func answer(_ id: Int32, _ answer: Answer, pushID: UnsafeBufferPointer<UInt8>) {
    var values: [(name: StaticString, bytes: [UInt8])] = [
      (":status", Array(String(answer.status).utf8)),
      (answer.isOfChannels ? "apns-request-id" : "apns-id", Array(pushID)),
    ]
    let hasBody = !answer.body.isEmpty
    // Apple's refusals have no content type.
    if hasBody, answer.reason == nil { values.append(("content-type", Array("application/json".utf8))) }
    if let channelID = answer.channelID { values.append(("apns-channel-id", Array(channelID.utf8))) }
    if let retryAfter = answer.retryAfter { values.append(("retry-after", Array(String(retryAfter).utf8))) }
    values.flatMap(\.bytes).withUnsafeBufferPointer { bytes in
      var rest = bytes[...]
      var fields = values.map { name, value in
        defer { rest = rest.dropFirst(value.count) }
        return field(name, UnsafeBufferPointer(rebasing: rest.prefix(value.count)))
      }
      var provider = nghttp2_data_provider()
      provider.read_callback = readAnswer
      if hasBody {
        nghttp2_submit_response(session, id, &fields, fields.count, &provider)
      } else {
        nghttp2_submit_response(session, id, &fields, fields.count, nil)
      }
    }
  }

  func reset(_ id: Int32, code: UInt32) {
    nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, code)
  }

  /// Sends GOAWAY. Streams above `last` are not processed; the session is finished when the others are.
  func goAway(last: Int32, code: UInt32, text: [UInt8]) {
    nghttp2_submit_goaway(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, code, text, text.count)
  }

  func acknowledgePing(_ opaque: UInt64) {
    withUnsafeBytes(of: opaque) { bytes in
      _ = nghttp2_submit_ping(
        session, UInt8(NGHTTP2_FLAG_ACK.rawValue), bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
    }
  }

  /// Returns nil if the stream is closed.
  func slot(of id: Int32) -> Int? {
    let slot = streamSlot(session, id)
    return slot >= 0 ? slot : nil
  }

  private func field(_ name: StaticString, _ value: StaticString) -> nghttp2_nv {
    nghttp2_nv(
      name: UnsafeMutablePointer(mutating: name.utf8Start), value: UnsafeMutablePointer(mutating: value.utf8Start),
      namelen: name.utf8CodeUnitCount, valuelen: value.utf8CodeUnitCount,
      flags: UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue))
  }

  /// Not indexed, because it differs each time and would only displace other fields.
  private func field(_ name: StaticString, _ value: UnsafeBufferPointer<UInt8>) -> nghttp2_nv {
    nghttp2_nv(
      name: UnsafeMutablePointer(mutating: name.utf8Start), value: UnsafeMutablePointer(mutating: value.baseAddress),
      namelen: name.utf8CodeUnitCount, valuelen: value.count,
      flags: UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_INDEX.rawValue))
  }
}

extension HTTP2Session {
  /// nghttp2 calls these within ``receive(_:)``, on the loop.
  fileprivate nonisolated static func set(_ callbacks: OpaquePointer) {
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { session, frame, context in
      guard let frame, isRequest(frame) else { return 0 }
      let id = frame.pointee.hd.stream_id
      nonisolated(unsafe) let (session, context) = (session, context)
      return EventLoop.assumeIsolated {
        let slot = delegate(context).streamBegan(id)
        return nghttp2_session_set_stream_user_data(session, id, UnsafeMutableRawPointer(bitPattern: slot + 1))
      }
    }
    nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      session, frame, name, nameCount, value, valueCount, _, context in
      guard let frame, isRequest(frame) else { return 0 }
      let id = frame.pointee.hd.stream_id
      nonisolated(unsafe) let (session, context, name, value) = (session, context, name, value)
      EventLoop.assumeIsolated {
        delegate(context).streamHeader(
          streamSlot(session, id), UnsafeRawBufferPointer(start: name, count: nameCount),
          UnsafeRawBufferPointer(start: value, count: valueCount))
      }
      return 0
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { session, _, id, bytes, count, context in
      nonisolated(unsafe) let (session, context, bytes) = (session, context, bytes)
      EventLoop.assumeIsolated {
        delegate(context).streamBody(id, streamSlot(session, id), UnsafeRawBufferPointer(start: bytes, count: count))
      }
      return 0
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { session, frame, context in
      guard let frame else { return 0 }
      nonisolated(unsafe) let (session, context, whole) = (session, context, frame)
      return EventLoop.assumeIsolated {
        received(whole, session, delegate(context))
        return delegate(context).isCut ? NGHTTP2_ERR_CALLBACK_FAILURE.rawValue : 0
      }
    }
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, context in
      guard let frame, UInt32(frame.pointee.hd.type) == NGHTTP2_RST_STREAM.rawValue else { return 0 }
      let (id, code) = (frame.pointee.hd.stream_id, frame.pointee.rst_stream.error_code)
      nonisolated(unsafe) let context = context
      EventLoop.assumeIsolated { delegate(context).streamWasReset(id, code: code) }
      return 0
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { session, id, _, context in
      nonisolated(unsafe) let (session, context) = (session, context)
      EventLoop.assumeIsolated {
        let slot = streamSlot(session, id)
        if slot >= 0 { delegate(context).streamClosed(slot) }
      }
      return 0
    }
  }
}

/// nghttp2 calls this within ``HTTP2Session/appendOutput(to:upTo:)``.
private let readAnswer: nghttp2_data_source_read_callback = { session, id, buffer, count, flags, _, context in
  guard let flags else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
  nonisolated(unsafe) let (session, bytes, flag, context) = (session, buffer, flags, context)
  return EventLoop.assumeIsolated {
    let into = UnsafeMutableRawBufferPointer(start: bytes, count: count)
    let written = delegate(context).streamAnswer(streamSlot(session, id), into: into)
    if written < count { flag.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return written
  }
}

/// Whether a HEADERS frame begins a request. Trailers, which end one, are not a push of their own, and their fields are
/// ignored.
private func isRequest(_ frame: UnsafePointer<nghttp2_frame>) -> Bool {
  frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
}

@EventLoop
private func received(_ frame: UnsafePointer<nghttp2_frame>, _ session: OpaquePointer?, _ delegate: Connection) {
  let header = frame.pointee.hd
  let isAcknowledgement = header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
  switch UInt32(header.type) {
  case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
    let slot = streamSlot(session, header.stream_id)
    guard slot >= 0 else { return }
    let isEnd = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
    if UInt32(header.type) == NGHTTP2_HEADERS.rawValue, isRequest(frame) {
      delegate.streamHeadEnded(header.stream_id, slot)
    }
    if isEnd { delegate.streamEnded(header.stream_id, slot) }
  case NGHTTP2_PING.rawValue where !isAcknowledgement:
    delegate.pinged(withUnsafeBytes(of: frame.pointee.ping.opaque_data) { $0.load(as: UInt64.self) })
  default:
    break
  }
}

@EventLoop
@inline(__always)
private func delegate(_ context: UnsafeMutableRawPointer?) -> Connection {
  guard let context else { preconditionFailure("a session without its connection") }
  return Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
}

/// Returns -1 for a stream without a slot.
@EventLoop
@inline(__always)
private func streamSlot(_ session: OpaquePointer?, _ id: Int32) -> Int {
  Int(bitPattern: nghttp2_session_get_stream_user_data(session, id)) - 1
}
