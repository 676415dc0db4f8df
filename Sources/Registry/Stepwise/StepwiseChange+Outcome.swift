extension StepwiseChange {
  enum Action: Sendable, Equatable {
    case send([Step])
    case done(Outcome)
  }

  struct Outcome: Sendable, Equatable {
    var device: ChangeOutcome
    /// Whether the user has more devices now than one app may have.
    var isOverfull = false
    /// Whether no event of the device waits for another process.
    var isPublished = true
  }
}
