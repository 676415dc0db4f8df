import Testing

@testable import Worker
@testable import Martlet

struct CommandLineWordsTests {
  @Test func `an option may stand several times`() throws {
    let line = try CommandLineWords(["a", "--bundle", "x", "--bundle=y", "b"], options: ["bundle"])
    #expect(line.positional == ["a", "b"])
    #expect(line.values("bundle") == ["x", "y"])
    #expect(line.value("bundle") == "y")
    #expect(line.values("other") == [])
  }
}
