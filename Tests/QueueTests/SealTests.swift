import Testing

@testable import Jobs
@testable import Queue

struct SealTests {
  private let envelope = Array("MARTLET1 0 2 n 0\n{}".utf8)

  @Test func `an element behind the seal is an envelope`() {
    let element = Seal.prefix("s3al") + envelope
    #expect(Seal.envelope(ofPopped: element, seal: "s3al", nonce: "m") == envelope)
  }

  @Test(arguments: [
    "MARTLET1 0 2 n 0\n{}", "MARTLET other MARTLET1 0 2 n 0\n{}", "MARTLET  MARTLET1 0 2 n 0\n{}", "{}", "",
  ])
  func `any other element is a producer's job`(text: String) {
    let element = Seal.envelope(ofPopped: Array(text.utf8), seal: "s3al", nonce: "m")
    #expect(Envelope(element: element) == Envelope(nonce: "m", job: Array(text.utf8)))
  }

  @Test func `without a seal every element is a producer's job`() {
    let element = Seal.prefix("") + envelope
    #expect(Envelope(element: Seal.envelope(ofPopped: element, seal: "", nonce: "m")).job == element)
  }
}
