import PushModel

extension JobReader {
  mutating func identifier(_ charset: Charset) throws(JobError) -> String {
    let text = try string()
    guard charset.accepts(text) else { throw error("expected \(charset.description)") }
    return text
  }

  /// One of the raw values of an enumeration.
  mutating func choice<Choice: CaseIterable & RawRepresentable<String>>(
    of type: Choice.Type
  ) throws(JobError) -> Choice {
    let name = try string()
    guard let choice = Choice(rawValue: name) else {
      throw error("expected one of \(type.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return choice
  }

  mutating func instance() throws(JobError) -> String {
    let id = try identifier(Charset.id)
    // Its record would stand where the notification records of another instance are.
    guard !id.utf8.reversed().starts(with: JobReader.notificationsSuffix) else {
      throw error("must not end in :notifications")
    }
    return id
  }

  private static let notificationsSuffix = Array(":notifications".utf8.reversed())

  mutating func username() throws(JobError) -> String {
    let name = try string(of: Username.length)
    guard let username = Username.validated(name) else {
      throw error("expected a username, not blank, without control characters")
    }
    return username
  }
}
