import EventLoop

/// A job on its way to a sorted set: the values that ``QueueScripts/move`` needs beside those that all settlements have.
struct SettlementMove {
  let target: String
  let element: [UInt8]
  let place: DueLocator.Place
  /// Unix ms; nil if ``delay`` says when.
  var score: Int64?
  var delay = Duration.zero
  /// The id of a paused broadcast.
  var paused: String?
  /// Nil if operators do not need to find the job.
  let due: String?
  let head: [UInt8]
  let outlives: Duration
  /// The set of the job that this one replaces under its id.
  var replaced: String?
  /// Whether the control string has to say that jobs are scheduled under ids of producers.
  var isUnderProducersID = false
  /// Elements that ``target`` keeps at most.
  var most: Int?

  /// Returns nil if the settlement does not move the job to a sorted set.
  init?(_ settlement: Settlement, _ keys: QueueKeys) {
    guard let target = settlement.verb.target(keys) else { return nil }
    self.target = target
    let locator = settlement.locator
    due = locator.map { keys.due($0.jobID) }
    switch settlement.verb {
    case .acknowledge, .handBack: return nil
    case .retry(let element, let delay):
      (self.element, place) = (element, .retry)
      self.delay = delay
      if locator?.replaces == true { replaced = keys.scheduled }
    case .schedule(let element, let at):
      (self.element, place) = (element, .scheduled)
      score = at
    case .pause(let element):
      (self.element, place) = (element, .scheduled)
      score = QueueLimits.withoutDate
      paused = locator?.jobID
    case .bury(let letter, let at):
      (element, place) = (letter, .dead)
      score = at
      most = QueueLimits.maximumDeadLetters
    }
    if place == .scheduled, let locator {
      replaced = keys.scheduled
      isUnderProducersID = locator.isProducers
    }
    head = place == .dead ? DueLocator.head(ofLetter: locator?.jobID ?? "") : DueLocator.head(element)
    outlives = place == .dead ? DueLocator.outlivesDeath : DueLocator.outlives
  }
}
