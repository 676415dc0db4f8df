/// One fault of `GET /faults`.
struct FaultReport: Codable, Equatable {
  let fault: String
  let every: Int
  let remaining: Int?
  let seen: Int

  init(_ fault: Fault) {
    self.fault = "\(fault.kind)"
    every = fault.every
    remaining = fault.remaining
    seen = fault.seen
  }
}
