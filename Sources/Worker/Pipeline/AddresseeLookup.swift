package import EventLoop
package import Jobs
package import Registry

/// Finds whom a job is for that is for no addressee of the registry.
@EventLoop
package protocol AddresseeLookup: AnyObject {
  /// Calls `completion` once.
  func find(_ delivery: Delivery, _ completion: @escaping @EventLoop (FoundAddressee) -> Void)
}

/// What an ``AddresseeLookup`` has found.
package enum FoundAddressee {
  /// What stands for devices and is still open, what is sent there, and the entry of the job's history.
  case devices([Device], any SentContent, HistoryEvent)
  /// Why the attempt ends.
  case none(GateAnswer)
}
