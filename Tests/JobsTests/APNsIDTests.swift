import Testing

@testable import Jobs

struct APNsIDTests {
  /// The first of the reference implementation's vectors.
  @Test func `SipHash has the digests of the reference implementation`() {
    let key: (UInt64, UInt64) = (0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908)
    let empty = SipHash128(key: key).finish()
    #expect(empty == (0xE6A8_25BA_047F_81A3, 0x9302_55C7_1472_F66D))
    var one = SipHash128(key: key)
    one.append(0)
    #expect(one.finish() == (0x44AF_996B_D8C1_87DA, 0x45FC_229B_1159_7634))
  }

  @Test func `an apns-id never changes`() {
    #expect(apnsID(jobID: "job-1", token: "abcdef0123456789abcdef") == "0a4604c8-8fe0-88ef-8572-f97edfbe2ded")
    #expect(apnsID(jobID: "", token: "") == "54dfc598-c369-8c11-a19b-08efb91cd704")
  }

  @Test func `an apns-id is a lower-case UUID and differs by job and by token`() {
    var ids: Set<String> = []
    for job in 0..<50 {
      for token in 0..<50 {
        let id = apnsID(jobID: "j\(job)", token: "t\(token)")
        ids.insert(id)
        #expect(id.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
      }
    }
    #expect(ids.count == 2500)
    #expect(apnsID(jobID: "ab", token: "c") != apnsID(jobID: "a", token: "bc"))
  }
}
