import Credentials

/// Something that an operator can do on a page. A form names it: `action=pause`.
struct PageAction: Sendable, Equatable {
  /// The value of the button, and the action in the audit log.
  let name: String
  /// Operators of a lower role may not do it.
  let role: OperatorRole

  init(_ name: String, role: OperatorRole = .operator) {
    self.name = name
    self.role = role
  }
}

/// All actions.
extension PageAction {
  /// Of a queue, or of a broadcast.
  static let pause = PageAction("pause")
  static let resume = PageAction("resume")
  /// Of a job, or of a broadcast.
  static let cancel = PageAction("cancel")
  static let runNow = PageAction("run-now")
  static let reveal = PageAction("reveal")
  /// Of a dead letter.
  static let requeue = PageAction("requeue")
  static let purge = PageAction("purge", role: .admin)
  /// Of all dead letters that match.
  static let requeueAll = PageAction("requeue-all")
  static let purgeAll = PageAction("purge-all", role: .admin)
  /// Of a device.
  static let test = PageAction("test")
  static let remove = PageAction("remove", role: .admin)
  /// Of a worker.
  static let drain = PageAction("drain")
  static let undrain = PageAction("undrain")
  /// Of a credential.
  static let disable = PageAction("disable", role: .admin)
  static let enable = PageAction("enable", role: .admin)
  static let revoke = PageAction("revoke", role: .admin)
}

/// What became of an action.
struct ActionOutcome: Sendable {
  enum Kind: String, Sendable {
    case done
    /// Nothing was changed, because the state did not allow it.
    case refused
  }

  let kind: Kind
  /// One sentence, which the next page shows once.
  let message: String
  /// The page that is shown next. Nil for the page of the form.
  var location: Link?

  static func done(_ message: String, then location: Link? = nil) -> ActionOutcome {
    ActionOutcome(kind: .done, message: message, location: location)
  }

  static func refused(_ message: String) -> ActionOutcome { ActionOutcome(kind: .refused, message: message) }
}
