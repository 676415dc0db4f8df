package import EventLoop
package import Jobs
package import Registry

/// Finds whom a job is for that is for no addressee of the registry.
@EventLoop
package protocol AddresseeLookup: AnyObject {
  /// Calls `completion` once.
  func find(_ delivery: Delivery, _ completion: @escaping @EventLoop (FoundAddressee) -> Void)
}

/// What a part adds to the path of a job. Made together, so that the steps can share what one of them keeps.
@EventLoop
package struct PartSteps {
  let gateBeforeDevices: (any Gate)?
  let gateAfterDevices: (any Gate)?
  let lookup: (any AddresseeLookup)?

  package init(
    beforeDevices: (any Gate)? = nil, afterDevices: (any Gate)? = nil, lookup: (any AddresseeLookup)? = nil
  ) {
    gateBeforeDevices = beforeDevices
    gateAfterDevices = afterDevices
    self.lookup = lookup
  }
}

/// What an ``AddresseeLookup`` has found.
package enum FoundAddressee {
  /// What stands for devices and is still open, what is sent there, and the entry of the job's history.
  case devices([Device], any SentContent, HistoryEvent)
  /// Why the attempt ends.
  case none(GateAnswer)
}
