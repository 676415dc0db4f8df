import Foundation

/// Checks the rules of docs/policy.md on the notifications that were sent, without knowing the policy's state.
struct BuiltInPolicyInvariants {
  struct Sent {
    let instance: Int
    /// Two notifications of the same job, sent twice by a crash, count as one.
    let job: Int
    let className: String
    /// Unix ms.
    let at: Int64

    var isLow: Bool { className == "attention_ping" || className == "message_delivered" }
  }

  private static let berlin = TimeZone(identifier: "Europe/Berlin")!
  private var history: [Int: [Sent]] = [:]

  /// Returns every rule that the newest notification breaks.
  mutating func faults(after newest: Sent) -> [String] {
    // No rule looks back further.
    history[newest.instance, default: []].removeAll { newest.at - $0.at > 86_400_000 }
    history[newest.instance, default: []].append(newest)
    let others = history[newest.instance, default: []].filter { $0.job != newest.job }
    func jobs(within seconds: Int64, where isMeant: (Sent) -> Bool = { _ in true }) -> Int {
      Set(others.filter { newest.at - $0.at < seconds * 1000 && isMeant($0) }.map(\.job)).count
    }
    var faults: [String] = []
    if jobs(within: 300) + 1 > 3 { faults.append("more than 3 in 5 minutes") }
    if jobs(within: 86_400) + 1 > 20 { faults.append("more than 20 in 24 hours") }
    if newest.isLow, jobs(within: 60, where: \.isLow) > 0 { faults.append("two of low urgency in a window") }
    if newest.className == "safety_critical", jobs(within: 120, where: { $0.className == newest.className }) > 0 {
      faults.append("two critical ones in two minutes")
    }
    if newest.className != "safety_critical", isNight(newest.at) { faults.append("in quiet hours") }
    return faults.map { "\($0): \(newest)" }
  }

  private func isNight(_ at: Int64) -> Bool {
    let wall =
      at / 1000
      + Int64(BuiltInPolicyInvariants.berlin.secondsFromGMT(for: Date(timeIntervalSince1970: Double(at) / 1000)))
    let hour = wall % 86_400 / 3600
    return hour >= 23 || hour < 8
  }
}
