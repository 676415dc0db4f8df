@testable import Registry

/// What Redis holds about one token, in memory.
struct TokenModel: Hashable {
  static let token = "token-model-0123456789abcdef"

  /// The metadata, as JSON.
  var metadata: [UInt8]?
  /// The sets that contain the token.
  var sets: Set<DeviceSet> = []
  var journal: Set<String> = []

  var device: StoredDevice { StoredDevice(TokenModel.token, metadata ?? []) }

  /// Whether each set that the metadata names contains the token.
  var isComplete: Bool { device.sets.allSatisfy(sets.contains) }
  /// Whether exactly these contain it, and no change is under way.
  var isSettled: Bool { Set(device.sets) == sets && journal.isEmpty }

  mutating func apply(_ step: Step, of entry: String) -> StepReply {
    switch step {
    case .read: return .device(device)
    case .check: return .flag(true)
    case .isFull: return .flag(false)
    case .publish: return .flag(true)
    case .open: return .flag(journal.insert(entry).inserted)
    case .close: return .flag(journal.remove(entry) != nil)
    case .join(let set, _):
      sets.insert(set)
      return .flag(true)
    case .leave(let set, _): return .flag(sets.remove(set) != nil)
    case .swap(let expected, let replacement, _, _):
      guard device.bytes == expected else { return .device(device) }
      metadata = replacement.isEmpty ? nil : replacement
      return .flag(true)
    }
  }

  /// Runs a change without interruption.
  @discardableResult
  mutating func run(_ operation: DeviceOperation, number: UInt64 = 99) -> ChangeOutcome.End {
    var actor = SteppedActor(operation, number: number)
    while !actor.isDone { actor.advance(&self) }
    return actor.end ?? .conflict
  }
}

/// A change that is carried out one command at a time.
struct SteppedActor {
  private var change: StepwiseChange
  private var steps: [Step] = []
  private var replies: [StepReply] = []
  /// Identifies the state: a change depends on nothing but its replies.
  private(set) var history: [Int] = []
  private(set) var isDone = false
  /// Nil until it is done.
  private(set) var end: ChangeOutcome.End?

  init(_ operation: DeviceOperation, number: UInt64) {
    change = StepwiseChange(TokenModel.token, operation, maximumDevices: 100, nonce: number)
    proceed()
  }

  /// Carries out the next command.
  mutating func advance(_ model: inout TokenModel) {
    let reply = model.apply(steps[replies.count], of: change.entry)
    replies.append(reply)
    history.append(SteppedActor.code(reply))
    if replies.count == steps.count { proceed() }
  }

  /// Ends the process between two commands.
  mutating func crash() {
    isDone = true
    history = [.min]
  }

  private mutating func proceed() {
    switch change.next(replies) {
    case .send(let next): (steps, replies) = (next, [])
    case .done(let outcome): (isDone, end) = (true, outcome.device.end)
    }
  }

  private static func code(_ reply: StepReply) -> Int {
    switch reply {
    case .device(let device): device.bytes.hashValue
    case .flag(let flag): flag ? 1 : 0
    }
  }
}
