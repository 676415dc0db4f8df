/// Spans that wait to be sent, a limited number of them. The latest are dropped if there is no room.
struct SpanBuffer {
  static let maximumSpans = 2048
  /// Spans of one request.
  static let batch = 512

  private var spans: [Span] = []
  private(set) var dropped = 0

  var count: Int { spans.count }
  var isEmpty: Bool { spans.isEmpty }
  /// Whether there are enough for a request.
  var isBatchFull: Bool { spans.count >= SpanBuffer.batch }

  mutating func append(_ added: [Span]) {
    let room = max(0, SpanBuffer.maximumSpans - spans.count)
    spans.append(contentsOf: added.prefix(room))
    dropped += max(0, added.count - room)
  }

  /// Removes the oldest spans, for one request.
  mutating func takeBatch() -> [Span] {
    let batch = Array(spans.prefix(SpanBuffer.batch))
    spans.removeFirst(batch.count)
    return batch
  }

  /// Puts back spans that could not be sent, in front of the others. Drops the latest spans if there is no room.
  mutating func putBack(_ batch: [Span]) {
    let all = batch + spans
    spans = Array(all.prefix(SpanBuffer.maximumSpans))
    dropped += all.count - spans.count
  }

  /// Drops spans that a collector refused.
  mutating func drop(_ count: Int) { dropped += count }
}
