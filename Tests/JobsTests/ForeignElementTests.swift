import Jobs
import Testing

/// What the reason of a dead letter says about an element that is no job.
struct ForeignElementTests {
  private static let job = #"{"to":{"user":"alice"},"title":"Lunch?"}"#

  private static let elements: [(bytes: [UInt8], found: String)] = [
    ([0xEF, 0xBB, 0xBF] + Array(job.utf8), "a byte order mark before the JSON; encode it without one"),
    ([0xFF, 0xFE] + job.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }, "UTF-16; encode the JSON in UTF-8"),
    (job.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }, "UTF-16; encode the JSON in UTF-8"),
    (job.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }, "UTF-16; encode the JSON in UTF-8"),
    // pickle.dumps({"to": 1}), of protocols 4 and 0.
    ([0x80, 4, 0x95, 0x0B, 0, 0, 0, 0, 0, 0, 0, 0x7D, 0x94], "a pickle of Python; serialize as JSON"),
    (Array("(dp0\nVto\np1\nI1\ns.".utf8), "a pickle of Python; serialize as JSON"),
    ([0xAC, 0xED, 0, 5, 0x74, 0, 2], "an object in Java's serialization; serialize as JSON"),
    ([0x81, 0xA2, 0x74, 0x6F, 0xA5] + Array("alice".utf8), "MessagePack; serialize as JSON"),
    ([0xDE, 0, 0x10], "MessagePack; serialize as JSON"),
    (Array(#""{\"to\":{\"user\":\"alice\"}}""#.utf8), "JSON inside a JSON string; encode it once"),
    (Array("[\(job),\(job)]".utf8), "an array of jobs; LPUSH each job as an element of its own"),
    (Array("eyJ0byI6eyJ1c2VyIjoiYWxpY2UifX0=".utf8), "JSON in base64; LPUSH the JSON itself"),
    (Array("to[user]=alice&title=Lunch%3F".utf8), "a form; serialize as JSON"),
  ]

  @Test(arguments: elements) func `the reason names what an element looks like`(bytes: [UInt8], found: String) {
    let error = JobError(reason: "not a job: looks like \(found)")
    #expect(throws: error) { try Job(parsing: bytes) }
    let format = QueueFormat("other") { _ throws(JobError) in throw JobError(reason: "not of this format") }
    #expect(throws: error) { try Job(parsing: bytes, as: format) }
  }

  @Test(arguments: ["", "[]", "null", "7", "nope", "\"alice\"", "[1]", "{", "{\"a\"=1}", "<a b=\"c\">", "=", "abcd"])
  func `other text keeps the fault of its JSON`(text: String) throws {
    do {
      _ = try Job(parsing: Array(text.utf8))
      Issue.record("it is a job")
    } catch {
      #expect(!error.reason.contains("looks like"), "\(error.reason)")
    }
  }
}
