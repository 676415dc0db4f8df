import Foundation
import Jobs
import Testing

struct SchemaTests {
  private static let mutations = 4000

  /// Refusals for rules that a schema cannot express.
  private static let beyondSchema = [
    "collapseId: expected 1 to 64 bytes of UTF-8",  // characters, not bytes
    "sendAt: expected a time with a zone",  // a 30th of February
  ]

  @Test func `the code and the schema accept the same jobs`() throws {
    var jobs = (Corpus.valid + Corpus.invalid.map(\.job)).map { Array($0.utf8) }
    var mutator = Mutator(seed: 1)
    for _ in 0..<SchemaTests.mutations { jobs.append(mutator.job()) }
    let decisions = try schemaDecisions(jobs)
    try #require(decisions.count == jobs.count)
    var accepted = 0
    for (job, isValid) in zip(jobs, decisions) {
      let text = String(decoding: job, as: UTF8.self)
      do {
        _ = try Job(parsing: job)
        accepted += 1
        #expect(isValid, "only the code accepts \(text)")
      } catch {
        let isBeyond = SchemaTests.beyondSchema.contains { error.reason.hasPrefix($0) }
        #expect(!isValid || isBeyond, "only the code refuses \(text): \(error.reason)")
      }
    }
    // If all generated jobs were valid, or all invalid, nothing would have been compared.
    #expect(accepted > jobs.count / 10)
    #expect(accepted < jobs.count * 9 / 10)
  }

  private func schemaDecisions(_ jobs: [[UInt8]]) throws -> [Bool] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL
    let corpus = FileManager.default.temporaryDirectory.appending(path: "martlet-corpus-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: corpus) }
    let lines = jobs.map { $0.map { String(format: "%02x", $0) }.joined() }
    try Data(lines.joined(separator: "\n").utf8).write(to: corpus)
    let checker = Process()
    checker.executableURL = URL(filePath: "/usr/bin/python3")
    checker.arguments = [
      root.appending(path: "Tests/SchemaCheck/check-schema.py").path, root.appending(path: "docs/job.schema.json").path,
      corpus.path,
    ]
    let output = Pipe()
    checker.standardOutput = output
    try checker.run()
    let decisions = try output.fileHandleForReading.readToEnd() ?? Data()
    checker.waitUntilExit()
    try #require(checker.terminationStatus == 0)
    return decisions.split(separator: 0x0A).map { $0 == Data("1".utf8) }
  }
}
