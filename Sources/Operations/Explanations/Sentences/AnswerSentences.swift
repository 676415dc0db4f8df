import Jobs

/// Puts the answers of an attempt into a sentence.
enum AnswerSentences {
  private static let uncertain = "Uncertain: "

  static func sentence(_ answers: HistoryAnswers, _ isOfChannel: Bool = false) -> String {
    if let device = answers.device { return sentence(answers, isOfChannel ? "channel" : "device", device) }
    let count = { Words.recipients($0, isOfChannel) }
    var parts: [String] = []
    if answers.accepted > 0 { parts.append("APNs accepted it for \(count(answers.accepted))") }
    if !answers.refused.isEmpty {
      parts.append("\(count(answers.refused.total)) did not get it: \(Words.list(answers.refused))")
    }
    if !answers.open.isEmpty {
      parts.append("\(count(answers.open.total)) will be tried again: \(Words.list(answers.open))")
    }
    return parts.joined(separator: "; ") + "."
  }

  private static func sentence(_ answers: HistoryAnswers, _ noun: String, _ device: String) -> String {
    let reason = answers.open.first?.reason ?? answers.refused.first?.reason
    guard let reason else { return "APNs accepted it for \(noun) \(device)." }
    if reason.hasPrefix(uncertain) {
      return "APNs did not answer for \(noun) \(device): \(reason.dropFirst(uncertain.count))."
    }
    if !answers.open.isEmpty {
      return
        "\(noun.prefix(1).uppercased())\(noun.dropFirst()) \(device) could not be reached for now: \(Words.named(reason))."
    }
    // Without a status APNs was not asked.
    guard let status = answers.status else { return "It was not sent to \(noun) \(device): \(reason)." }
    return "APNs refused it for \(noun) \(device): \(Words.named(reason)) (\(status))."
  }
}
