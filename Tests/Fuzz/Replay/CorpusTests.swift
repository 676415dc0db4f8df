import Foundation
import Testing

/// Every input that fuzzing has kept is read as it was found.
struct CorpusTests {
  private static let folder = URL(filePath: #filePath).appending(path: "../../corpus").standardizedFileURL

  @Test(arguments: FuzzTarget.allCases) func `the inputs of the corpus break no rule`(target: FuzzTarget) throws {
    let folder = Self.folder.appending(path: target.rawValue)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path())
    #expect(names.count >= 10)
    for name in names.sorted() {
      let bytes = Array(try Data(contentsOf: folder.appending(path: name)))
      do {
        try target.run(bytes)
      } catch {
        Issue.record("Tests/Fuzz/corpus/\(target.rawValue)/\(name): \(error.description)")
      }
    }
  }

  @Test func `a target refuses nothing of no bytes`() throws {
    for target in FuzzTarget.allCases { try target.run([]) }
  }
}
