import Foundation

/// What docs/policy.md says about the notifications that an instance was sent; knows nothing but them.
struct NyraInvariants {
  struct Sent {
    let instance: Int
    /// Copies of a job that a crash has sent twice are one notification.
    let job: Int
    let className: String
    /// Unix ms.
    let at: Int64

    var isLow: Bool { className == "attention_ping" || className == "message_delivered" }
  }

  private static let berlin = TimeZone(identifier: "Europe/Berlin")!
  private var history: [Int: [Sent]] = [:]

  /// Every sentence of the document that the newest notification breaks.
  mutating func faults(after newest: Sent) -> [String] {
    // Older than any sentence of the document looks back.
    history[newest.instance, default: []].removeAll { newest.at - $0.at > 86_400_000 }
    history[newest.instance, default: []].append(newest)
    let others = history[newest.instance, default: []].filter { $0.job != newest.job }
    func jobs(within seconds: Int64, where isMeant: (Sent) -> Bool = { _ in true }) -> Int {
      Set(others.filter { newest.at - $0.at < seconds * 1000 && isMeant($0) }.map(\.job)).count
    }
    var faults: [String] = []
    if jobs(within: 300) + 1 > 3 { faults.append("more than 3 in 5 minutes") }
    if jobs(within: 86_400) + 1 > 20 { faults.append("more than 20 in 24 hours") }
    if newest.isLow, jobs(within: 60, where: \.isLow) > 0 { faults.append("two low ones in a window") }
    if newest.className == "safety_critical", jobs(within: 120, where: { $0.className == newest.className }) > 0 {
      faults.append("two critical ones in two minutes")
    }
    if newest.className != "safety_critical", isNight(newest.at) { faults.append("in quiet hours") }
    return faults.map { "\($0): \(newest)" }
  }

  private func isNight(_ at: Int64) -> Bool {
    let wall =
      at / 1000 + Int64(NyraInvariants.berlin.secondsFromGMT(for: Date(timeIntervalSince1970: Double(at) / 1000)))
    let hour = wall % 86_400 / 3600
    return hour >= 23 || hour < 8
  }
}
