/// The active faults. Each counts every push of its topic; the first that fires is applied.
struct FaultPlan {
  private(set) var faults: [Fault] = []
  /// Whether TCP connections are accepted but get no TLS.
  var stallsAccept = false
  /// Whether heads are answered before the body has arrived.
  var answersEarly = false
  var answersPings = true
  /// Sent on each new connection, before any stream.
  var greeting: Goaway?
  /// The number of the newest connection; they count from 1.
  var newestConnection = 0

  var isEmpty: Bool { faults.isEmpty }

  mutating func add(_ fault: Fault) {
    faults.append(fault)
  }

  mutating func removeAll() {
    let newest = newestConnection
    self = FaultPlan()
    newestConnection = newest
  }

  /// Counts the next request of a connection, which has this topic, and returns the fault that applies to it.
  mutating func take(
    topic: ArraySlice<UInt8>?, on target: RequestTarget.Kind = .pushes, connection: Int = 0
  ) -> FaultEffect {
    var effect = FaultEffect.none
    for index in faults.indices where faults[index].target == target {
      if let last = faults[index].lastConnection, connection > last { continue }
      if let wanted = faults[index].topic, topic?.elementsEqual(wanted) != true { continue }
      guard let distance = faults[index].countPush(), effect == .none else { continue }
      effect = FaultPlan.effect(of: faults[index].kind, pushesUntilFiring: distance)
    }
    return effect
  }

  private static func effect(of kind: Fault.Kind, pushesUntilFiring distance: Int) -> FaultEffect {
    switch kind {
    case .goaway(let goaway, let unanswered) where goaway.isAbrupt && (1..<max(1, unanswered)).contains(distance):
      .stall(processed: true)
    case _ where distance > 0: .none
    case .goaway(let goaway, _): .goaway(goaway)
    case .reset(let code, let processed): .reset(code: code, processed: processed)
    case .stall(let processed): .stall(processed: processed)
    case .drop(let processed): .drop(processed: processed)
    case .answer(let answer): .answer(answer)
    }
  }
}

/// The effect of the faults on one push.
enum FaultEffect: Equatable {
  case none
  case answer(Answer)
  case reset(code: UInt32, processed: Bool)
  case stall(processed: Bool)
  case drop(processed: Bool)
  case goaway(Goaway)

  /// Whether the push is checked and recorded in the ledger.
  var isProcessed: Bool {
    switch self {
    case .none, .answer, .goaway: true
    case .reset(_, let processed), .stall(let processed), .drop(let processed): processed
    }
  }

  /// The name of its count; nil without a fault.
  var name: String? {
    switch self {
    case .none: nil
    case .answer: "answers"
    case .reset: "resets"
    case .stall: "stalls"
    case .drop: "drops"
    case .goaway: "goaways"
    }
  }
}
