package import Credentials

/// Something that an operator can do on a page. A form names it: `action=pause`.
package struct PageAction: Sendable, Equatable {
  /// The value of the button, and the action in the audit log.
  package let name: String
  /// Operators of a lower role may not do it.
  package let role: OperatorRole

  package init(_ name: String, role: OperatorRole = .operator) {
    self.name = name
    self.role = role
  }
}

/// All actions.
extension PageAction {
  /// Of a queue, or of a broadcast.
  package static let pause = PageAction("pause")
  package static let resume = PageAction("resume")
  /// Of a job, or of a broadcast.
  package static let cancel = PageAction("cancel")
  package static let runNow = PageAction("run-now")
  package static let reveal = PageAction("reveal")
  /// Of a dead letter.
  package static let requeue = PageAction("requeue")
  package static let purge = PageAction("purge", role: .admin)
  /// Of all dead letters that match.
  package static let requeueAll = PageAction("requeue-all")
  package static let purgeAll = PageAction("purge-all", role: .admin)
  /// Of a device.
  package static let test = PageAction("test")
  package static let remove = PageAction("remove", role: .admin)
  /// Of a worker.
  package static let drain = PageAction("drain")
  package static let undrain = PageAction("undrain")
  /// Of a credential.
  package static let disable = PageAction("disable", role: .admin)
  package static let enable = PageAction("enable", role: .admin)
  package static let revoke = PageAction("revoke", role: .admin)
}

/// What became of an action.
package struct ActionOutcome: Sendable {
  package enum Kind: String, Sendable {
    case done
    /// Nothing was changed, because the state did not allow it.
    case refused
  }

  package let kind: Kind
  /// One sentence, which the next page shows once.
  package let message: String
  /// The page that is shown next. Nil for the page of the form.
  package var location: Link?

  package static func done(_ message: String, then location: Link? = nil) -> ActionOutcome {
    ActionOutcome(kind: .done, message: message, location: location)
  }

  package static func refused(_ message: String) -> ActionOutcome { ActionOutcome(kind: .refused, message: message) }
}
