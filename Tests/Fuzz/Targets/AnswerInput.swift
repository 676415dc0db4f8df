@testable import APNs

/// An answer of APNs or of a proxy: two bytes that give the status, then the body.
enum AnswerInput {
  private static let statuses = 200..<600

  static func check(_ bytes: [UInt8]) throws(Violation) {
    guard bytes.count >= 2 else { return }
    let status = statuses.lowerBound + (Int(bytes[0]) << 8 + Int(bytes[1])) % statuses.count
    let body = Array(bytes.dropFirst(2))
    try check(APNsAnswer(status: status, body: body, apnsUniqueID: nil, retryAfterSeconds: nil))
  }

  static func check(_ answer: APNsAnswer) throws(Violation) {
    try require(statuses.contains(answer.status), "an answer has the status \(answer.status)")
    try require(
      (answer.reason == nil) == (200..<300).contains(answer.status), "an answer \(answer.status) has the wrong reason")
    if let reason = answer.reason {
      try requireShort(reason, RefusalBody.maximumReasonCharacters, "a reason")
      try require(reason.utf8.allSatisfy { (0x20..<0x7F).contains($0) }, "a reason is not printable")
    }
    let meaning = answer.meaning
    try require((meaning == .accepted) == (200..<300).contains(answer.status), "\(answer.status) means \(meaning)")
    if case .staleToken = meaning {
      try require([400, 410].contains(answer.status), "\(answer.status) makes a token stale")
    }
  }
}
