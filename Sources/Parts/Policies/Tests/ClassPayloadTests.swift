import Jobs
import Testing

@testable import Policies

struct ClassPayloadTests {
  private func payload(_ text: String) throws -> String {
    let job = try Job(parsing: Array(text.utf8))
    return String(decoding: try job.apnsPayload(try job.terms(in: PolicyBook.standard)), as: UTF8.self)
  }

  @Test func `the payload of a class has the documented shape`() throws {
    let expected =
      #"{"aps":{"alert":{"title":"Nyra","body":"Look"},"badge":1,"sound":"default","content-available":1},"#
      + #""nyra":{"class":"action_needed","instance_id":"home","hint":"poll"}}"#
    #expect(try payload(#"{"to":{"instance":"home"},"class":"action_needed","preview":"Look"}"#) == expected)
  }
}
