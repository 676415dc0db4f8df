/// The state of one request and its answer. Reused for later requests.
struct PushStream {
  /// Bytes of a body that are kept. A longer body is refused in any case, so the rest is only counted.
  static let keptBody = 5121

  var head = RequestHead()
  private(set) var body: [UInt8] = []
  private(set) var bodyCount = 0
  /// The part of the answer's body that was not sent yet.
  var answerBody: ArraySlice<UInt8> = []
  /// The answer if it was sent after the head.
  var earlyAnswer: Answer?

  mutating func receive(_ bytes: UnsafeRawBufferPointer) {
    let kept = min(bytes.count, PushStream.keptBody - body.count)
    if kept > 0 { body.append(contentsOf: bytes.prefix(kept)) }
    bodyCount += bytes.count
  }

  mutating func removeAll() {
    head.removeAll()
    body.removeAll(keepingCapacity: true)
    bodyCount = 0
    answerBody = []
    earlyAnswer = nil
  }
}

/// What is delayed by the added round-trip time.
struct Delayed {
  enum Work {
    case answer(Answer, stream: Int32, pushID: [UInt8])
    /// Bytes of bodies that are given free.
    case credit(Int)
  }

  let work: Work
  /// Monotonic nanoseconds.
  let due: UInt64
}
