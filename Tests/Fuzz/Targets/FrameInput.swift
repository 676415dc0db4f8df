import Dispatch
import EventLoop
import PushModel

@testable import APNs

/// HTTP/2 frames as from APNs, to a connection with pushes in flight.
///
/// The first byte has the number of pushes in its lower three bits; its highest bit is set if their payloads are written
/// before the frames arrive. The second byte is the size of the pieces in which the frames arrive.
enum FrameInput {
  private static let maximumOutputBytes = 1 << 16
  private static let maximumTextBytes = 128

  static func check(_ bytes: [UInt8]) throws(Violation) {
    guard bytes.count >= 2 else { return }
    let violation = EventLoop.queue.sync {
      EventLoop.assumeIsolated { () -> Violation? in
        do throws(Violation) {
          try receive(bytes)
          return nil
        } catch {
          return error
        }
      }
    }
    if let violation { throw violation }
  }

  @EventLoop
  private static func receive(_ bytes: [UInt8]) throws(Violation) {
    guard let session = try? HTTP2Session(authority: "api.push.apple.com") else { return }
    var open = (0..<Int(bytes[0] & 7) + 1).map { _ in push() }
    open.removeAll { !session.submit($0, authorization: Array("bearer a.b.c".utf8)) }
    let frames = bytes[2...]
    do throws(APNsError) {
      if bytes[0] & 0x80 != 0 { try write(session) }
      var start = frames.startIndex
      while start < frames.endIndex {
        let end = min(start + Int(bytes[1]) + 1, frames.endIndex)
        try session.receive(frames[start..<end])
        start = end
        try write(session)
      }
    } catch {
      try requireShort("\(error)", maximumTextBytes, "a connection's fault")
    }
    for push in session.takeEnded() {
      let index = open.firstIndex { $0 === push }
      guard let index else { throw Violation(description: "a push ended twice") }
      open.remove(at: index)
      try check(push)
    }
    try require(session.streamLimit >= 0 && session.pongs >= 0, "a connection counts below zero")
    _ = session.isOver
    for push in open { session.cancel(push) }
    try? write(session)
    let late = session.takeEnded()
    try require(late.isEmpty, "a cancelled push ended")
  }

  @EventLoop
  private static func check(_ push: Push) throws(Violation) {
    try require(push.stream.body.count <= maximumOutputBytes, "a body has \(push.stream.body.count) bytes")
    switch push.stream.outcome {
    case .answered(let answer):
      // Status codes above 599 are not HTTP's, but nghttp2 passes them on.
      if answer.status < 600 { try AnswerInput.check(answer) }
      try require((answer.retryAfterSeconds ?? 0) >= 0, "Retry-After is negative")
    case .notProcessed(let reason), .uncertain(let reason): try requireShort(reason, maximumTextBytes, "a reason")
    }
  }

  private static func write(_ session: HTTP2Session) throws(APNsError) {
    var output: [UInt8] = []
    try session.produce(into: &output, target: maximumOutputBytes)
  }

  @EventLoop
  private static func push() -> Push {
    Push(
      token: String(repeating: "ab", count: 32), apnsID: "00000000-0000-4000-8000-000000000000",
      shared: SharedContent(
        message: Push.Message(payload: Array(#"{"aps":{"alert":"hello"}}"#.utf8)), topic: "com.example.app",
        environment: .production), evidence: .none
    ) { _ in }
  }
}
