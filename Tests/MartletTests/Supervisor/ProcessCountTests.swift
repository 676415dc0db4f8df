import Testing

@testable import Martlet

struct ProcessCountTests {
  @Test func `a number from 1 to 64, or auto`() throws {
    #expect(try ProcessCount.parse(nil) == 1)
    #expect(try ProcessCount.parse("1") == 1)
    #expect(try ProcessCount.parse("64") == 64)
    #expect(ProcessCount.range.contains(try ProcessCount.parse("auto")))
    for text in ["0", "65", "+1", " 1", "Auto", "9999999999999999999"] {
      #expect(throws: CommandError.self) { try ProcessCount.parse(text) }
    }
  }

  @Test(arguments: [("0", 1), ("0-3", 4), ("0-3,8,10-11", 7), ("", 1), ("x", 1), ("3-1", 1)])
  func `cores are those that the process may run on`(list: String, expected: Int) {
    let status = "Name:\tmartlet\nCpus_allowed:\tff\nCpus_allowed_list:\t\(list)\nMems_allowed:\t1\n"
    #expect(ProcessCount.cores(status: status, limits: []) == expected)
  }

  @Test(arguments: [
    (["max 100000\n"], 8), (["200000 100000\n"], 2), (["150000 100000"], 2), (["10000 100000"], 1),
    (["max 100000", "300000 100000", "", "nonsense", "1", "0 0", "-5 5"], 3), (["9223372036854775807 1"], 8),
  ]) func `a limit of a control group allows fewer`(limits: [String], expected: Int) {
    #expect(ProcessCount.cores(status: "Cpus_allowed_list:\t0-7\n", limits: limits) == expected)
  }
}
