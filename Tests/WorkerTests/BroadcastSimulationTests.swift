import Jobs
import PushModel
import Registry
import TestSupport
import Testing

@testable import Worker

/// Broadcasts whose events come in random order, with random faults, over as many attempts as it takes.
struct BroadcastSimulationTests {
  @Test(arguments: 0..<400 as Range<UInt64>)
  func `with events in any order, every device is sent to once and every attempt ends once`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let tokens = (0..<Int.random(in: 0...70, using: &random)).map { "\(1000 + $0)" }
    var state = SimulatedAttempt.Remembered()
    var acceptedTokens: [String] = []
    for attempt in 0..<1000 {
      // Faults become rare, so that the broadcast completes.
      var simulated = SimulatedAttempt(tokens, from: state, random: random, faults: attempt < 20)
      simulated.run()
      random = simulated.random
      acceptedTokens += simulated.accepted
      state = simulated.remembered
      if simulated.ending?.extent == .complete, simulated.ending?.refusal == nil, state.open.isEmpty { break }
    }
    #expect(state.position == .end)
    // No fault here loses an answer: no device is sent to twice.
    #expect(acceptedTokens.sorted() == tokens)
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func `whenever the job is fenced, no action follows`(seed: UInt64) {
    let tokens = (0..<50).map { "\(1000 + $0)" }
    var simulated = SimulatedAttempt(
      tokens, from: .init(), random: SeededGenerator(seed: seed), faults: true, mayBeFenced: true)
    simulated.run()
  }
}

/// One attempt: plays Redis and APNs, and checks each action.
private struct SimulatedAttempt {
  /// What one attempt leaves for the next.
  struct Remembered {
    var position = BroadcastProgress.Position(text: nil)
    var open: [String] = []
  }

  private enum Event {
    case positioned
    case resolved([String], page: Int)
    case located(page: Int, next: BroadcastProgress.Position, [Device])
    case loaded([Device], page: Int)
    case pushEnded(String, page: Int)
  }

  private static let pageSize = 3

  private let tokens: [String]
  private let faults: Bool
  private let mayBeFenced: Bool
  private let earlier: Remembered
  private var progress: BroadcastProgress
  private var pending: [Event] = []
  private var pages: Set<Int> = []
  private var submitted: Set<String> = []
  private var ended: Set<String> = []
  private var openNow: Set<String> = []
  private var committedOpen: [String] = []
  private var lastCommit: String?
  private(set) var random: SeededGenerator
  private(set) var accepted: [String] = []
  private(set) var remembered: Remembered
  private(set) var ending: AttemptEnd?
  private var isFenced = false

  init(
    _ tokens: [String], from earlier: Remembered, random: SeededGenerator, faults: Bool, mayBeFenced: Bool = false
  ) {
    self.tokens = tokens
    self.mayBeFenced = mayBeFenced
    self.faults = faults
    self.earlier = earlier
    self.random = random
    remembered = earlier
    progress = BroadcastProgress(
      emptyTally: Tally(result: JobResult(id: "j", status: .retrying, worker: "w", claimedAt: 0)))
  }

  mutating func run() {
    carryOut(progress.start())
    while !pending.isEmpty {
      if faults, chance(1, in: 60) { carryOut(progress.stop()) }
      if mayBeFenced, chance(1, in: 40) {
        isFenced = true
        progress.abandon()
      }
      handle(pending.remove(at: Int.random(in: pending.indices, using: &random)))
    }
    if !isFenced, ending == nil { Issue.record("the attempt never ended") }
  }

  // MARK: - Events

  private mutating func handle(_ event: Event) {
    switch event {
    case .positioned:
      if fault() { return carryOut(progress.positioningFailed(.init(reason: "down"))) }
      carryOut(progress.positioned(at: earlier.position, open: earlier.open.map { DeviceToken($0) }))
    case .resolved(let tokens, let page):
      if fault() { return carryOut(progress.pageFailed(page, .init(reason: "down"))) }
      carryOut(progress.pageLoaded(page, tokens.map { Device(token: DeviceToken($0)) }))
    case .located(let page, let next, let devices):
      if fault() { return carryOut(progress.pageFailed(page, .init(reason: "down"))) }
      pending.append(.loaded(devices, page: page))
      carryOut(progress.pageLocated(page, next: next))
    case .loaded(let devices, let page):
      if fault() { return carryOut(progress.pageFailed(page, .init(reason: "down"))) }
      carryOut(progress.pageLoaded(page, devices))
    case .pushEnded(let token, let page):
      ended.insert(token)
      if fault() {
        openNow.insert(token)
        let open = PushOutcome.open(after: .zero, isFault: true)
        carryOut(progress.pushEnded(EndedPush(token: DeviceToken(token), outcome: open, reason: "busy"), page: page))
      } else {
        accepted.append(token)
        carryOut(progress.pushEnded(EndedPush(token: DeviceToken(token), outcome: .accepted, status: 200), page: page))
      }
    }
  }

  // MARK: - Actions

  private mutating func carryOut(_ actions: [BroadcastProgress.Action]) {
    for action in actions {
      #expect(ending == nil && !isFenced, "an action after the end")
      switch action {
      case .loadProgress: pending.append(.positioned)
      case .resolve(let tokens, let page):
        pages.insert(page)
        pending.append(.resolved(tokens.map(\.text), page: page))
      case .fetch(let cursor, let page): fetch(from: cursor, page)
      case .submit(let devices, let page): submit(devices, page)
      case .commit(let tally, let next): commit(tally, next)
      case .end(let ending): end(ending)
      }
    }
  }

  private mutating func fetch(from cursor: AudienceCursor, _ page: Int) {
    #expect(pages.insert(page).inserted, "a page was requested twice")
    let rest = tokens.filter { "00:\($0)" > cursor.description }
    let found = rest.prefix(SimulatedAttempt.pageSize)
    let next: BroadcastProgress.Position =
      rest.count > found.count ? .init(text: "00:\(found.last ?? "")") : .end
    pending.append(.located(page: page, next: next, found.map { Device(token: DeviceToken($0)) }))
  }

  private mutating func submit(_ devices: ArraySlice<Device>, _ page: Int) {
    if faults, chance(1, in: 200) { return carryOut(progress.refused(page, because: "PayloadTooLarge")) }
    for device in devices {
      #expect(submitted.insert(device.token.text).inserted, "\(device.token) was submitted twice")
      pending.append(.pushEnded(device.token.text, page: page))
    }
    carryOut(progress.submitted(page, pushes: devices.count))
  }

  private mutating func commit(_ tally: Tally, _ next: BroadcastProgress.Position) {
    #expect(next.text >= earlier.position.text)
    if let lastCommit { #expect(next.text > lastCommit, "the cursor did not advance") }
    lastCommit = next.text
    for token in tokens where "00:\(token)" > earlier.position.text && "00:\(token)" <= next.text {
      #expect(ended.contains(token), "\(token) was committed before its push ended")
    }
    let open = tally.open.map(\.text)
    committedOpen += open
    #expect(Set(open).isSubset(of: openNow))
    remembered = Remembered(position: next, open: committedOpen)
  }

  private mutating func end(_ ending: AttemptEnd) {
    #expect(submitted == ended, "the attempt ended with pushes in flight")
    if ending.extent == .untouched { #expect(submitted.isEmpty) }
    if ending.extent == .complete, ending.refusal == nil { #expect(remembered.position == .end) }
    #expect(Set(ending.leftOpen.map(\.text)).isSubset(of: earlier.open))
    self.ending = ending
    guard ending.extent != .untouched else { return }
    remembered.open = committedOpen + ending.leftOpen.map(\.text)
  }

  // MARK: - Chance

  private mutating func chance(_ part: Int, in whole: Int) -> Bool {
    Int.random(in: 0..<whole, using: &random) < part
  }

  private mutating func fault() -> Bool { faults && chance(1, in: 25) }
}
