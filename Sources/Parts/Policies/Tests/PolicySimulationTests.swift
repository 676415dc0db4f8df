import Foundation
import Testing

@testable import Jobs
@testable import Policies

/// A week of random traffic on a simulated clock, with retries and crashes. The rules of the document are checked after every
/// step, on the list of sent notifications alone.
struct PolicySimulationTests {
  /// An ordinary week and the two with a clock change.
  private static let weeks = ["2026-06-08T00:00:00+02:00", "2026-03-25T00:00:00+01:00", "2026-10-21T00:00:00+02:00"]

  @Test(arguments: weeks, [1, 2, 3, 4] as [UInt64])
  func `no notification of a random week breaks a rule of the document`(week: String, seed: UInt64) throws {
    let start = Int64(try Date(week, strategy: .iso8601).timeIntervalSince1970 * 1000)
    var simulation = PolicySimulation(seed: seed, start: start)
    var invariants = BuiltInPolicyInvariants()
    var seen = 0
    while simulation.step() {
      while seen < simulation.sent.count {
        let faults = invariants.faults(after: simulation.sent[seen])
        #expect(faults == [], "seed \(seed), week of \(week)")
        guard faults.isEmpty else { return }
        seen += 1
      }
    }
    // A simulation with few events would check nothing.
    #expect(simulation.sent.count > 150)
    #expect(simulation.unfinished == 0)
    for reason in [SuppressionReason.limit, .collapsed, .spacing, .quietHours] {
      #expect(simulation.suppressed[reason, default: 0] > 5, "\(reason)")
    }
    #expect(simulation.deferred >= 7)
    #expect(simulation.crashes > 50 && simulation.retries > 20)
    #expect(simulation.lost == [], "suppressed without a visible reason")
  }
}
