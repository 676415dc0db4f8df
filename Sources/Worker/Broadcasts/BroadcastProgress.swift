import Jobs
import PushModel
import Registry

/// How far a broadcast has come: a state machine without side effects. Each method reports an event and returns the
/// actions to carry out, in order.
///
/// Up to ``maximumPages`` are in memory at once: the next ones are requested while the pushes of earlier ones are in flight.
/// Pages are submitted and committed in order, so that after a crash another worker continues after the last committed
/// page.
struct BroadcastProgress {
  static let maximumPages = 40
  /// Devices of a page. Small, because a page is committed when all of its pushes have ended.
  static let pageSize = 100
  /// With this many open devices, the gateway is assumed to have a problem: no more pages are requested in this attempt.
  static let maximumOpen = 1000

  /// The maximum number of pushes in pages that are submitted and not committed. A crash repeats these pushes, and those
  /// of commits that Redis has not confirmed yet: about 500.
  static let maximumUncommitted = 400

  private enum Phase: Equatable {
    /// Waits for its turn.
    case waiting
    /// Reads how far an earlier attempt came.
    case positioning
    /// `next` is where the next page begins; nil while the last page requested is being located.
    case inProgress(next: Position?)
    /// Requests no more pages; ends when those submitted have.
    case stopping(next: Position)
    case ended
  }

  private struct Page {
    enum Stage {
      case requested
      /// Waits for earlier pages.
      case loaded(ArraySlice<Device>)
      case submitting
      /// This many pushes have not ended.
      case submitted(Int)
    }

    let number: Int
    let start: Position
    /// Nil until located.
    var end: Position?
    /// The devices of an earlier attempt, if the page is theirs.
    var tokens: [DeviceToken] = []
    var stage = Stage.requested
    /// The devices, once the page is submitted.
    var size = 0
    var tally: Tally

    var isSubmitted: Bool { if case .submitted = stage { true } else { false } }
  }

  private let emptyTally: Tally
  private let maximumUncommitted: Int
  private var phase = Phase.waiting
  private var pages: [Page] = []
  /// The number of the next page.
  private var nextNumber = 0
  private var openCount = 0
  private var ending = AttemptEnd()

  /// `emptyTally` is what each page's tally starts from.
  init(emptyTally: Tally, maximumUncommitted: Int = BroadcastProgress.maximumUncommitted) {
    self.emptyTally = emptyTally
    self.maximumUncommitted = maximumUncommitted
  }

  var isWaiting: Bool { phase == .waiting }

  // MARK: - Events

  mutating func start() -> [Action] {
    guard isWaiting else { return [] }
    phase = .positioning
    return [.loadProgress]
  }

  /// Earlier attempts have tried everything before `position` except the devices `open`.
  mutating func positioned(at position: Position, open: [DeviceToken]) -> [Action] {
    guard phase == .positioning else { return [] }
    phase = .inProgress(next: position)
    guard !open.isEmpty else { return advance() }
    pages.append(Page(number: takeNumber(), start: position, end: position, tokens: open, tally: emptyTally))
    return [.resolve(tokens: open, page: pages[0].number)]
  }

  /// The progress could not be read.
  mutating func positioningFailed(_ fault: AttemptEnd.Fault) -> [Action] {
    guard phase == .positioning else { return [] }
    ending.fault = fault
    return stop()
  }

  /// It is known where the next page begins, before the devices of page `number` are.
  mutating func pageLocated(_ number: Int, next: Position) -> [Action] {
    guard let index = index(of: number), pages[index].end == nil else { return [] }
    pages[index].end = next
    phase = .inProgress(next: next)
    return advance()
  }

  mutating func pageLoaded(_ number: Int, _ devices: [Device]) -> [Action] {
    guard let index = index(of: number), pages[index].end != nil, case .requested = pages[index].stage else {
      return []
    }
    split(index, devices)
    return advance()
  }

  /// Makes pages of ``pageSize`` devices out of one that was read.
  private mutating func split(_ index: Int, _ devices: [Device]) {
    let size = pages[index].tokens.isEmpty ? BroadcastProgress.pageSize : Int.max
    var start = pages[index].start
    let end = pages[index].end
    var parts: [Page] = []
    var rest = devices[...]
    while rest.count > size {
      let part = rest.prefix(size)
      rest = rest.dropFirst(size)
      let next = Position.cursor(AudienceCursor(after: part[part.endIndex - 1].token))
      parts.append(
        Page(number: takeNumber(), start: start, end: next, stage: .loaded(part), tally: emptyTally))
      start = next
    }
    parts.append(
      Page(
        number: pages[index].number, start: start, end: end, tokens: pages[index].tokens, stage: .loaded(rest),
        tally: emptyTally))
    pages.replaceSubrange(index...index, with: parts)
  }

  mutating func submitted(_ number: Int, pushes: Int, unreachable: [UnreachableDevice] = []) -> [Action] {
    guard let index = index(of: number), case .submitting = pages[index].stage else { return [] }
    pages[index].stage = .submitted(pushes)
    pages[index].tally.recordUnreachable(unreachable)
    return advance()
  }

  /// The payload is invalid for every device.
  mutating func refused(_ number: Int, because reason: String) -> [Action] {
    guard let index = index(of: number), case .submitting = pages[index].stage else { return [] }
    ending.refusal = reason
    drop(from: index)
    return advance()
  }

  mutating func pushEnded(_ push: EndedPush, page number: Int) -> [Action] {
    guard let index = index(of: number) else { return [] }
    pages[index].tally.record(push)
    return oneEnded(at: index)
  }

  /// The records of the page's users were written, instead of pushes.
  mutating func recordsKept(page number: Int) -> [Action] {
    index(of: number).map { oneEnded(at: $0) } ?? []
  }

  /// The next attempt continues at page `number`.
  mutating func pageFailed(_ number: Int, _ fault: AttemptEnd.Fault) -> [Action] {
    guard let index = index(of: number) else { return [] }
    // A fault of the job's own keys is not forgotten: the attempt counts.
    let isOfJob = fault.isOfJob || ending.fault?.isOfJob == true
    ending.fault = .init(reason: fault.reason, isOfJob: isOfJob)
    drop(from: index)
    return stop()
  }

  /// Whether an answer to ``BroadcastAction``'s `loadProgress` is expected.
  var isPositioning: Bool { phase == .positioning }

  /// An operator has paused the broadcast.
  mutating func pause() -> [Action] {
    ending.isPaused = true
    return stop()
  }

  /// Ends as soon as the pages submitted have.
  mutating func stop() -> [Action] {
    switch phase {
    case .ended: return []
    case .waiting, .positioning: return [end(.untouched)]
    case .inProgress(let next):
      if let next { phase = .stopping(next: next) }
    case .stopping: break
    }
    if let index = pages.firstIndex(where: { !$0.isSubmitted }) { drop(from: index) }
    return advance()
  }

  /// The job was fenced: no action follows.
  mutating func abandon() {
    phase = .ended
    pages = []
  }

  // MARK: - Steps

  private func index(of number: Int) -> Int? { pages.firstIndex { $0.number == number } }

  private mutating func takeNumber() -> Int {
    nextNumber += 1
    return nextNumber - 1
  }

  private mutating func oneEnded(at index: Int) -> [Action] {
    guard case .submitted(let left) = pages[index].stage, left > 0 else { return [] }
    pages[index].stage = .submitted(left - 1)
    return left == 1 ? advance() : []
  }

  /// Forgets the page and those behind it. None of them has pushes in flight, as pages are submitted in order.
  private mutating func drop(from index: Int) {
    phase = .stopping(next: pages[index].start)
    ending.leftOpen += pages[index...].flatMap(\.tokens)
    pages.removeSubrange(index...)
  }

  private mutating func advance() -> [Action] {
    var actions: [Action] = []
    if let commit = commitFinished() { actions.append(commit) }
    if let fetch = fetchNext() { actions.append(fetch) }
    // Last, as carrying out a submission reports the next event.
    if let last = submitNext() ?? endIfDone() { actions.append(last) }
    return actions
  }

  private mutating func commitFinished() -> Action? {
    var tally: Tally?
    var next = Position.end
    while let page = pages.first, case .submitted(0) = page.stage, let end = page.end {
      pages.removeFirst()
      openCount += page.tally.open.count
      next = end
      if tally == nil { tally = page.tally } else { tally?.merge(page.tally) }
    }
    return tally.map { .commit($0, next: next) }
  }

  private mutating func fetchNext() -> Action? {
    guard case .inProgress(next: .cursor(let cursor)?) = phase, pages.count < BroadcastProgress.maximumPages,
      openCount < BroadcastProgress.maximumOpen
    else { return nil }
    phase = .inProgress(next: nil)
    let number = takeNumber()
    pages.append(Page(number: number, start: .cursor(cursor), tally: emptyTally))
    return .fetch(from: cursor, page: number)
  }

  private mutating func submitNext() -> Action? {
    guard let index = pages.firstIndex(where: { !$0.isSubmitted }), case .loaded(let devices) = pages[index].stage
    else { return nil }
    let uncommitted = pages[..<index].reduce(0) { $0 + $1.size }
    guard index == 0 || uncommitted + devices.count <= maximumUncommitted else { return nil }
    pages[index].stage = .submitting
    pages[index].size = devices.count
    return .submit(devices, page: pages[index].number)
  }

  private mutating func endIfDone() -> Action? {
    guard pages.isEmpty else { return nil }
    switch phase {
    case .inProgress(next: .end), .stopping(next: .end): return end(.complete)
    case .stopping: return end(ending.refusal == nil ? .cutShort : .complete)
    case .inProgress where openCount >= BroadcastProgress.maximumOpen: return end(.cutShort)
    case .inProgress, .waiting, .positioning, .ended: return nil
    }
  }

  private mutating func end(_ extent: AttemptExtent) -> Action {
    phase = .ended
    ending.extent = extent
    return .end(ending)
  }
}
