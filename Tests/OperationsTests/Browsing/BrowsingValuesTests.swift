import PushModel
import Jobs
import Testing

@testable import Operations
@testable import Queue

/// What comes from the address of a page, and may be forged.
struct BrowsingValuesTests {
  @Test(arguments: ["1700000000000,0", "0,25", "-5,3", "1.5,1"])
  func `a position is read as it was written`(text: String) {
    #expect(SortedPosition(text)?.text == text)
  }

  @Test(arguments: [
    "", ",", "5", "5,", ",5", "x,1", "5,-1", "5,x", "nan,0", "inf,0", "-inf,0", "1e999,0", "5,1,2", "(5,0",
    "5,99999999999",
    "5 ,0", "5,+1", "00000000000000000000000000001,0", "5\n,0", "0x10,0",
  ])
  func `a forged position is refused`(text: String) {
    #expect(SortedPosition(text) == nil)
  }

  @Test func `a reference is read as it was written, and nothing else`() {
    let digest = String(repeating: "ab", count: 20)
    #expect(BrowsedJob.Reference("17,3,\(digest)")?.text == "17,3,\(digest)")
    for text in ["17,3", "17,3,", "17,\(digest)", "17,3,\(digest.uppercased())", "17,3,\(digest)0", "x,3,\(digest)"] {
      #expect(BrowsedJob.Reference(text) == nil, "\(text)")
    }
  }

  @Test func `letters that are taken do not count in the position of the next page`() {
    var walk = PageWalk(start: SortedPosition(score: 9, skip: 2), since: 3)
    for (score, isTaken) in [("9", false), ("9", true), ("8", true), ("8", false), ("8", true), ("8", false)] {
      let goesOn = walk.examine(score: score, isTaken: isTaken)
      #expect(goesOn)
    }
    #expect(walk.position == SortedPosition(score: 8, skip: 2))
    let goesOn = walk.examine(score: "2", isTaken: true)
    #expect(!goesOn)
    #expect(walk.isOver)
  }

  @Test func `a summary tells what can be read of a job`() {
    func summary(_ text: String) -> JobSummary { JobSummary(job: Array(text.utf8)) }
    let whole = summary(#"{"id":"a","to":{"user":" Alice "},"app":"com.x","title":"secret"}"#)
    #expect((whole.id, whole.addressee, whole.app) == ("a", .user("alice"), "com.x"))
    #expect(summary(#"{"to":{"app":"com.x"}}"#).app == "com.x")
    #expect(summary(#"{"to":{"app":"com.x"},"app":"com.y"}"#).app == "com.y")
    #expect(summary(#"{"to":{"user":"u"},"title":"cut o"#).addressee == .user("u"))
    #expect(summary(#"{"id":"<b>","to":{"user":1}}"#) == JobSummary(job: []))
    for text in ["", "[", "\u{0}\u{0}", "null", "{\"to\":{}}"] { #expect(summary(text).addressee == nil, "\(text)") }
  }
}
