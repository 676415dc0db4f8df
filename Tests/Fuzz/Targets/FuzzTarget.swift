/// An input that comes from outside, and what must hold for all of its bytes.
enum FuzzTarget: String, CaseIterable {
  /// An element of a queue: envelope, state and job.
  case job
  /// Bytes from Redis.
  case reply
  /// An answer of APNs: status and body.
  case answer
  /// HTTP/2 frames from APNs.
  case frames
  /// A request to the sidecar: target, header field, body.
  case request
  /// A file of delivery policies.
  case policy
  /// A file of another sender's devices.
  case devices

  /// Reads `bytes` as the target's input. Throws if one of its rules is broken.
  func run(_ bytes: [UInt8]) throws(Violation) {
    switch self {
    case .job: try JobInput.check(bytes)
    case .reply: try ReplyInput.check(bytes)
    case .answer: try AnswerInput.check(bytes)
    case .frames: try FrameInput.check(bytes)
    case .request: try RequestInput.check(bytes)
    case .policy:
      #if PART_POLICIES
        try PolicyInput.check(bytes)
      #endif
    case .devices: try DeviceFileInput.check(bytes)
    }
  }
}

/// A rule that does not hold for an input.
struct Violation: Error, CustomStringConvertible {
  let description: String
}

func require(_ holds: Bool, _ rule: @autoclosure () -> String) throws(Violation) {
  guard holds else { throw Violation(description: rule()) }
}

/// Requires that a message for people is neither empty nor longer than `maximumBytes`.
func requireShort(_ message: String, _ maximumBytes: Int, _ what: String) throws(Violation) {
  try require(!message.isEmpty, "\(what) is empty")
  try require(message.utf8.count <= maximumBytes, "\(what) has \(message.utf8.count) bytes: \(message.prefix(20))")
}
