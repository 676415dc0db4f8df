import JSON
package import Usage

extension CommandLineWords {
  package init(_ words: [String], of command: any Command.Type) throws(CommandError) {
    do throws(UsageError) {
      try self.init(words, command.usage)
    } catch {
      throw .usage(error.description)
    }
  }

  /// Throws if one of the options is given. `reason` says what it is for: `is for keys`.
  package func refuse(_ names: [String], _ reason: String) throws(CommandError) {
    for name in names where has(name) { throw .usage("--\(name) \(reason) only") }
  }

  /// Returns the value of --queue.
  package func queue() throws(CommandError) -> String? {
    guard let name = value("queue") else { return nil }
    guard SharedSettings.isQueueName(name) else {
      throw .usage("--queue takes a list name of \(SharedSettings.queueNameRule)")
    }
    return name
  }

  /// The value of --by, or the login name.
  package var operatorName: String {
    let values = ProcessEnvironment.processValues
    return value("by") ?? values["USER"] ?? values["LOGNAME"] ?? ""
  }
}

// What several commands have.
extension CommandOption {
  package static let json = CommandOption("json", "print JSON")
  package static let queue = CommandOption("queue", .text("LIST"), "this list instead of those of MARTLET_QUEUES")
  package static let by = CommandOption("by", .text("NAME"), "who asks for it; default: your login name")
}

extension CommandArgument {
  package static let id = CommandArgument("ID")
  package static let anyID = CommandArgument("ID", isOptional: true)
  package static let name = CommandArgument("NAME")
  package static let file = CommandArgument("FILE", isFile: true)
}
