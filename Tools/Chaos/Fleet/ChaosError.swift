/// The servers or the faults are not as the plan has them, so that the run says nothing about the fleet.
struct Unjudged: Error, CustomStringConvertible {
  let description: String

  init(_ cause: any Error) {
    description = "\(cause)"
  }
}

/// The run cannot go on.
struct ChaosError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
