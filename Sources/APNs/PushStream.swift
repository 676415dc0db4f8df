/// What is known of one attempt: the request that left and the response so far.
struct PushStream {
  /// 0 before the attempt.
  var id: Int32 = 0
  /// Bytes of the payload that nghttp2 has taken.
  var payloadOffset = 0
  /// All of the payload is on its way. Before that APNs cannot have delivered anything.
  var isWritten = false

  /// HTTP status of the final response; 0 until its header has arrived.
  var status = 0
  var body: [UInt8] = []
  var uniqueID: String?
  var retryAfterSeconds: Int?
  /// Why the stream ended without an answer.
  var end = StreamEnd.open
}

/// How a stream was closed, apart from its answer.
enum StreamEnd {
  case open, finished, refused
  /// HTTP/2 error code of the RST_STREAM.
  case reset(UInt32)
}
