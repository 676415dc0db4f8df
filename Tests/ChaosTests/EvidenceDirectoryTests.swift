import Foundation
import TestSupport
import Testing

@testable import Chaos

struct EvidenceDirectoryTests {
  private func plan(_ seed: UInt64, _ layout: RedisLayout = .sentinels) -> Plan {
    Plan(seed: seed, faults: 5, workers: 2, layout: layout, kinds: nil)
  }

  @Test func `each run keeps its evidence under a name of its own`() throws {
    let directory = try TemporaryDirectory()
    let evidence = EvidenceDirectory(parent: "\(directory.path)/chaos")
    let time = Date(timeIntervalSince1970: 1_000_000_000)
    var places = [try evidence.make(for: plan(7), at: time)]
    try "kept".write(toFile: "\(places[0])/report", atomically: true, encoding: .utf8)
    places.append(try evidence.make(for: plan(7), at: time))
    places.append(try evidence.make(for: plan(7, .cluster), at: time))
    places.append(try evidence.make(for: plan(7), at: time + 1))
    #expect(
      places.map { String($0.dropFirst(evidence.parent.count + 1)) } == [
        "20010909T014640Z-7-5", "20010909T014640Z-7-5-2", "20010909T014640Z-7-5-cluster", "20010909T014641Z-7-5",
      ])
    #expect(try String(contentsOfFile: "\(places[0])/report", encoding: .utf8) == "kept")
  }

  @Test func `only the oldest directories of runs are too many`() {
    let names = (0..<22).map { "20010909T0146\(10 + $0)Z-7-5" }
    #expect(EvidenceDirectory.surplus(["notes"] + names.reversed()) == Array(names.prefix(3)))
    #expect(EvidenceDirectory.surplus(names.suffix(19) + ["20010909"]) == [])
  }
}
