/// What an examination found out about one thing.
package struct Finding: Sendable, Equatable {
  enum Status: String, Sendable {
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
  let status: Status
  let text: String
  /// What to do about it.
  let fix: String?

  init(_ check: String, _ status: Status, _ text: String, fix: String? = nil) {
    self.check = check
    self.status = status
    self.text = text
    self.fix = fix
  }
}
