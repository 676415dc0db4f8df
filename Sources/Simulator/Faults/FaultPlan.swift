/// The faults in force. Every one counts every push; the first that fires has its way.
struct FaultPlan {
  private(set) var faults: [Fault] = []
  /// TCP connections are accepted and then left alone: no TLS.
  var stallsAccept = false
  /// Heads are answered before the body has come.
  var answersEarly = false
  var answersPings = true

  var isEmpty: Bool { faults.isEmpty }

  mutating func add(_ fault: Fault) {
    faults.append(fault)
  }

  mutating func removeAll() {
    self = FaultPlan()
  }

  /// The fate of the next push.
  mutating func next() -> FaultEffect {
    var effect = FaultEffect.none
    for index in faults.indices {
      guard let distance = faults[index].pushesUntilFiring(), effect == .none else { continue }
      effect = FaultPlan.effect(of: faults[index].kind, pushesUntilFiring: distance)
    }
    return effect
  }

  private static func effect(of kind: Fault.Kind, pushesUntilFiring distance: Int) -> FaultEffect {
    switch kind {
    case .goaway(abrupt: true, let unanswered) where (1..<max(1, unanswered)).contains(distance):
      .stall(processed: true)
    case _ where distance > 0: .none
    case .goaway(let abrupt, _): .goaway(abrupt: abrupt)
    case .reset(let code, let processed): .reset(code: code, processed: processed)
    case .stall(let processed): .stall(processed: processed)
    case .drop(let processed): .drop(processed: processed)
    case .answer(let answer): .answer(answer)
    }
  }
}
