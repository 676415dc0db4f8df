/// Something that an operator should know, and what to do about it.
public struct Finding: Sendable, Equatable {
  /// The most serious first.
  public enum Severity: String, Sendable, CaseIterable {
    /// Something does not work: pushes do not arrive, or jobs may be lost.
    case problem
    /// It may become a problem, or needs a look.
    case warning
    /// How things are.
    case fact
    /// What was checked is as it should be.
    case ok
  }

  public var severity: Severity
  public var text: String
  /// Unix ms; nil if it is unknown.
  public var since: Int64?
  /// What to do; nil if nothing needs to be done.
  public var fix: String?
  /// The device that the finding is about, shortened unless whole tokens were asked for, or what was checked.
  public var subject: String?

  public init(
    _ severity: Severity, _ text: String, since: Int64? = nil, fix: String? = nil, subject: String? = nil
  ) {
    self.severity = severity
    self.text = text
    self.since = since
    self.fix = fix
    self.subject = subject
  }
}

extension [Finding] {
  /// The most serious first, and those of a severity in their order.
  public var bySeverity: [Finding] {
    Finding.Severity.allCases.flatMap { severity in filter { $0.severity == severity } }
  }
}
