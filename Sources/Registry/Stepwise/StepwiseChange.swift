import EventLoop
import Events
import PushModel

/// Carries out an operation on one token in steps, each with the keys of one hash slot.
///
/// Order, and what another process or a crash between two steps finds:
/// 1. Read the metadata and decide.
/// 2. Note the token in the journal. After a crash, ``Registry/repair()`` adds it to the sets that its metadata names.
/// 3. Add the token to the sets that only the new metadata names. An entry that the metadata does not name is never sent to.
/// 4. Replace the metadata, the only truth, if it is still the one that was read; else begin again. Metadata is deleted
///    before the token leaves its sets, so that no set lacks a device that its metadata names. Only a device that makes
///    room leaves the user's set first, because only there the number of devices is known at that moment.
/// 5. Add the token to the sets that the metadata names, and remove it from the others that this change touched.
///    Step 3 does not suffice: a change that read the metadata before step 4 may remove the token after step 3.
/// 6. Read the metadata again, and repeat step 5 until both agree. So whoever changes a set last does it as the last
///    metadata says: if the metadata changes after this step, its writer does step 5 later.
/// 7. If events are written: move those of the device to the stream. Step 4 has written the event beside the metadata.
/// 8. Remove the entry from the journal.
struct StepwiseChange: Sendable {
  /// Rounds of step 5 in which a device that made room stays out of the user's set.
  private static let limitedRounds = 8

  private enum Phase {
    case start, reading, checking, joining, evicting, swapping
    /// The sets are made to agree with this device.
    case applying(StoredDevice)
    case verifying(StoredDevice)
    case publishing
    case closing
  }

  let token: String
  /// The member of the journal.
  let entry: String
  /// Whether steps write also if Redis is full.
  private(set) var isForced = false

  private let operation: DeviceOperation
  private let maximumDevices: Int
  private let makesEvents: Bool
  /// Whether there may be events of the device to be published.
  private var hasEvents = false
  private var phase = Phase.start
  private var change = DeviceChange.nothing
  private var outcome: Outcome
  /// The sets that must agree with the metadata in the end.
  private var touched: [DeviceSet] = []
  private var checked: Set<DeviceSet> = []
  private var isOpen = false
  private var tries = 0
  private var rounds = 0
  /// Whether a set was too full for the token in this round.
  private var isRefused = false
  /// The steps whose replies are expected.
  private var sent: [Step] = []

  /// `nonce` distinguishes this change from others of the same token.
  init(_ token: String, _ operation: DeviceOperation, maximumDevices: Int, makesEvents: Bool = false, nonce: UInt64) {
    self.token = token
    self.operation = operation
    self.maximumDevices = maximumDevices
    self.makesEvents = makesEvents
    outcome = Outcome(device: ChangeOutcome(before: StoredDevice(token, [])))
    // A process that ended may have left some.
    if makesEvents, operation == .repair { hasEvents = true }
    entry = "\(token) \(String(nonce, radix: 16))"
  }

  /// Returns what to do after these replies to the last steps; none at the beginning.
  mutating func next(_ replies: [StepReply]) -> Action {
    switch phase {
    case .start: return read()
    case .reading: return decided(replies)
    case .checking:
      for case (.check(let set), .flag(false)) in zip(sent, replies) { return end(.otherType(set)) }
      return prepare()
    case .joining:
      guard !replies.contains(.flag(false)) else {
        outcome.device.end = .full
        return apply(outcome.device.before)
      }
      return swap()
    case .evicting:
      guard replies.first == .flag(true) else {
        return outcome.device.left.isEmpty ? close() : apply(outcome.device.before)
      }
      if case .evict(let user, _, _, _) = operation { outcome.device.left.insert(.user(user)) }
      return swap()
    case .swapping: return swapped(replies)
    case .applying(let device):
      for case (.leave(let set, _), .flag(true)) in zip(sent, replies) { outcome.device.left.insert(set) }
      isRefused = zip(sent, replies).contains { step, reply in
        if case .join = step { reply == .flag(false) } else { false }
      }
      phase = .verifying(device)
      return send([.read] + (limitedSet.map { [.isFull($0, limit: maximumDevices + 1)] } ?? []))
    case .verifying(let device): return verified(device, replies)
    case .publishing:
      hasEvents = false
      outcome.isPublished = replies.first == .flag(true)
      // The journal keeps the entry, so that they are published later.
      return outcome.isPublished ? close() : .done(outcome)
    case .closing: return .done(outcome)
    }
  }

  /// The metadata that names the sets which the token joins.
  var joiningMetadata: [UInt8] {
    if case .applying(let device) = phase { return device.bytes }
    return change.result(from: outcome.device.before).bytes
  }

  private mutating func send(_ steps: [Step]) -> Action {
    sent = steps
    return .send(steps)
  }

  private mutating func read() -> Action {
    phase = .reading
    var steps = [Step.read]
    if tries == 0, let set = limitedSet { steps.append(.isFull(set, limit: maximumDevices)) }
    return send(steps)
  }

  /// The set in which others make room for the device.
  private var limitedSet: DeviceSet? {
    switch operation.unscoped {
    case .register(let registration) where !registration.username.isEmpty: .user(registration.username)
    case .take(let metadata) where !metadata.username.isEmpty: .user(metadata.username)
    default: nil
    }
  }

  private mutating func decided(_ replies: [StepReply]) -> Action {
    guard case .device(let stored)? = replies.first else { return end(.conflict) }
    if replies.dropFirst().first == .flag(true) { isForced = true }
    outcome.device.before = stored
    outcome.device.after = stored
    change = operation.decide(stored)
    if change.isForeign { outcome.device.end = .foreign }
    // After a lost race, what was added before must be removed again.
    if change == .nothing || change.isForeign, !touched.isEmpty { return apply(stored) }
    if change.isForced { isForced = true }
    touch(change.joined + change.left)
    guard !touched.isEmpty || change.record != .kept else { return close() }
    let unchecked = touched.filter { checked.insert($0).inserted }
    guard !unchecked.isEmpty || !isOpen else { return prepare() }
    phase = .checking
    let opening = isOpen ? [] : [Step.open]
    isOpen = true
    return send(opening + unchecked.map(Step.check))
  }

  private mutating func touch(_ sets: [DeviceSet]) {
    for set in sets where !touched.contains(set) { touched.append(set) }
  }

  /// Begins to change the sets.
  private mutating func prepare() -> Action {
    if case .evict(let user, _, let limit, _) = operation {
      phase = .evicting
      return send([.leave(.user(user), above: limit)])
    }
    let known = outcome.device.before.sets
    let added = change.record == .kept ? [] : change.joined.filter { !known.contains($0) }
    guard !added.isEmpty else { return swap() }
    phase = .joining
    return send(added.map { .join($0, limit: admission(to: $0)) })
  }

  /// How many entries a set may have before the token is added; nil for any number.
  private func admission(to set: DeviceSet) -> Int? {
    guard case .restore(_, isAdmitted: false, _) = operation, case .user = set else { return nil }
    return maximumDevices
  }

  private mutating func swap() -> Action {
    let before = outcome.device.before
    if change.record == .kept { return apply(before) }
    phase = .swapping
    let event = makesEvents ? change.report?.event(at: Clock.unixMilliseconds) : nil
    if event != nil { hasEvents = true }
    return send([
      .swap(
        expected: before.bytes, metadata: change.result(from: before).bytes, lifetime: change.lifetime, event: event)
    ])
  }

  private mutating func swapped(_ replies: [StepReply]) -> Action {
    guard replies.first == .flag(true) else {
      tries += 1
      guard tries < Registry.maximumConflicts else {
        outcome.device.end = .conflict
        return apply(outcome.device.before)
      }
      return decided(replies)
    }
    let device = change.result(from: outcome.device.before)
    outcome.device.after = device
    outcome.device.end = .written
    return apply(device)
  }

  private mutating func apply(_ device: StoredDevice) -> Action {
    guard !touched.isEmpty else { return close() }
    phase = .applying(device)
    let named = device.sets
    return send(touched.map { named.contains($0) ? .join($0, limit: limit(of: $0)) : .leave($0, above: nil) })
  }

  /// A device that was removed to make room for another must not come back before its metadata is deleted, or a third
  /// one would have to leave. If its metadata stays, the device comes back after a few rounds.
  private func limit(of set: DeviceSet) -> Int? {
    set == limitedSet && rounds < StepwiseChange.limitedRounds ? maximumDevices : nil
  }

  private mutating func verified(_ device: StoredDevice, _ replies: [StepReply]) -> Action {
    guard case .device(let found)? = replies.first else { return end(.conflict) }
    outcome.isOverfull = replies.dropFirst().first == .flag(true)
    let agrees = touched.allSatisfy { found.sets.contains($0) == device.sets.contains($0) }
    if agrees, !isRefused { return close() }
    rounds += 1
    // The journal keeps the entry, so that the token is repaired later.
    guard rounds < Registry.maximumConflicts else { return .done(outcome) }
    return apply(found)
  }

  private mutating func end(_ end: ChangeOutcome.End) -> Action {
    outcome.device.end = end
    return close()
  }

  private mutating func close() -> Action {
    if hasEvents {
      phase = .publishing
      return send([.publish])
    }
    guard isOpen else { return .done(outcome) }
    phase = .closing
    return send([.close])
  }
}

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
