import Testing

@testable import Jobs
@testable import Queue

struct EnvelopeTests {
  @Test func `a producer's element is a job without a nonce`() {
    let bytes = Array(#"{"to":{"user":"alice"}}"#.utf8)
    #expect(Envelope(element: bytes) == Envelope(nonce: nil, job: bytes))
    #expect(Envelope(element: bytes).element == bytes)
  }

  @Test func `an envelope is read as it was written, with NULs and line ends`() {
    let envelope = Envelope(
      crashes: 2, attempts: 7, nonce: "abc.1.2", state: Array("{\"open\":[]}\n\0".utf8), job: [0, 10, 255, 32, 0])
    #expect(Envelope(element: envelope.element) == envelope)
  }

  @Test(arguments: [
    "MARTLET1 ", "MARTLET1 1", "MARTLET1 x 0 n 0\n{}", "MARTLET1 0 0  0\n{}", "MARTLET1 0 0 n 99\n{}",
    "MARTLET1 0 0 n 0", "MARTLET1 0 0 n\u{E9} 0\n{}", "MARTLET1 0 0 n:1 0\n{}", "MARTLET1 9999999999 0 n 0\n",
    "MARTLET1 -1 0 n 0\n{}", "",
  ])
  func `an element with a malformed head is a job`(element: String) {
    let bytes = Array(element.utf8)
    #expect(Envelope(element: bytes).nonce == nil)
    #expect(Envelope(element: bytes).job == bytes)
  }
}
