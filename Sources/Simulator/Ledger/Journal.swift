import EventLoop
import JSON

#if canImport(Glibc)
  import Glibc
#endif

/// A file with one line of JSON per push that arrived, also of those that a fault kept from being processed.
@EventLoop
final class Journal {
  private let descriptor: Int32

  /// Appends to the file.
  init(path: String) throws(CredentialError) {
    descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw .cannotWrite(path: path, reason: String(cString: strerror(errno)))
    }
  }

  isolated deinit {
    close(descriptor)
  }

  /// An error cannot be reported.
  func append(_ entry: JournalEntry, _ stream: PushStream) {
    let line = entry.line(stream.head, payload: stream.body)
    _ = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
  }
}

/// What became of a push.
struct JournalEntry {
  /// Unix nanoseconds.
  let arrival: UInt64
  /// The port that the client's connection comes from.
  let clientPort: Int
  /// Nil if the push was not processed.
  let answer: Answer?
  let effect: FaultEffect

  /// Bytes of the payload that are not UTF-8 are replaced.
  func line(_ head: RequestHead, payload: [UInt8] = []) -> [UInt8] {
    let object: JSONObject = [
      "arrival": arrival, "client": clientPort, "apnsId": head.text(head[.apnsID]),
      "token": head.text(head.deviceToken), "topic": head.text(head[.topic]), "pushType": head.text(head[.pushType]),
      "priority": head.text(head[.priority]), "collapseId": head.text(head[.collapseID]),
      "expiration": head.text(head[.expiration]), "status": answer?.status, "reason": answer?.reason,
      "lost": effect.losesAnswer ? effect.endsConnection ? "connection" : "answer" : nil,
      "payload": payload.isEmpty ? nil : String(decoding: payload, as: UTF8.self),
    ]
    return object.bytes + [UInt8(ascii: "\n")]
  }
}

extension FaultEffect {
  /// Whether the push is not answered although its connection was used.
  var losesAnswer: Bool {
    switch self {
    case .none, .answer: false
    case .goaway(let goaway): goaway.isAbrupt
    case .reset, .stall, .drop: true
    }
  }

  /// Whether the connection ends with other pushes unanswered.
  var endsConnection: Bool {
    switch self {
    case .drop, .goaway: true
    case .none, .answer, .reset, .stall: false
    }
  }
}
