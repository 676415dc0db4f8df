/// What is printed at the end of a run.
struct Report {
  private static let shownViolations = 10

  let plan: Plan
  let injected: [FaultKind: Int]
  let verdict: Verdict
  let seconds: Int
  let changes: Int

  /// A table in Markdown.
  var table: String {
    var rows = FaultKind.allCases.compactMap { kind in injected[kind].map { (kind.rawValue, "\($0)") } }
    let place = plan.layout == .cluster ? " on a cluster" : ""
    rows.append(("**faults**\(place), seed \(plan.seed), \(seconds) s", "**\(injected.values.reduce(0, +))**"))
    rows += [
      ("jobs", "\(verdict.jobs)"),
      ("changes of a device's owner", "\(changes)"),
      ("pushes accepted by APNs", "\(verdict.accepted)"),
      ("pushes refused by APNs", "\(verdict.refused)"),
      ("duplicates after a crash", "\(verdict.duplicatesAfterCrash)"),
      ("duplicates after an uncertain answer", "\(verdict.duplicatesAfterUncertainty)"),
      ("duplicates after `martlet dead requeue`", "\(verdict.duplicatesAfterRequeue)"),
    ]
    rows += Invariant.allCases.map { ($0.rawValue, "\(verdict.violations[$0]?.count ?? 0)") }
    let width = rows.map(\.0.count).max() ?? 0
    let lines = [("what", "count"), (String(repeating: "-", count: width), "--:")] + rows
    return lines.map { name, count in
      "| \(name)\(String(repeating: " ", count: max(0, width - name.count))) | \(count) |"
    }.joined(separator: "\n")
  }

  /// The first violations of each invariant.
  var violations: String { violations(upTo: Report.shownViolations) }

  /// The table and every violation.
  var everything: String { table + "\n" + violations(upTo: .max) }

  private func violations(upTo count: Int) -> String {
    var text = "seed \(plan.seed): broken invariants\n"
    for invariant in Invariant.allCases {
      guard let lines = verdict.violations[invariant] else { continue }
      text += "\(invariant.rawValue): \(lines.count)\n"
      for line in lines.prefix(count) { text += "  \(line)\n" }
    }
    return text
  }
}
