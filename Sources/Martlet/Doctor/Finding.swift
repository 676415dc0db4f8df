/// What an examination found out about one thing.
package struct Finding: Sendable, Equatable {
  enum Verdict: String, Sendable {
    case ok
    /// Worth knowing; nothing is wrong.
    case note
    /// It works, and may stop to.
    case warn
    /// It does not work.
    case fail
  }

  /// What was looked at, in a word or two.
  let check: String
  let verdict: Verdict
  let text: String
  /// What to do about it.
  let mend: String?

  init(_ check: String, _ verdict: Verdict, _ text: String, mend: String? = nil) {
    self.check = check
    self.verdict = verdict
    self.text = text
    self.mend = mend
  }
}
