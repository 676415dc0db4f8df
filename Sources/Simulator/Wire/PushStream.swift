/// One request while it comes in and until its answer has left. Used again for later ones.
struct PushStream {
  /// More of a body is counted but not kept: it is refused anyway. Bytes.
  static let keptBody = 5121

  var head = RequestHead()
  private(set) var body: [UInt8] = []
  private(set) var bodyCount = 0
  /// The rest of the answer's body.
  var answerBody: ArraySlice<UInt8> = []
  /// Judged already, when the head came.
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
