import Jobs
import PushModel
import Registry
import TestSupport
import Testing

@testable import Worker

/// The state machine of a broadcast, step by step.
struct BroadcastProgressTests {
  private typealias Position = BroadcastProgress.Position

  private static let emptyTally = Tally(result: JobResult(id: "j", status: .retrying, worker: "w", claimedAt: 0))
  private static let start = Position(text: nil)

  private static func cursor(_ number: Int) -> AudienceCursor { AudienceCursor("00:\(1000 + number)") ?? .start }
  private static func position(_ number: Int) -> Position { .cursor(cursor(number)) }
  private static func device(_ token: String) -> Device { Device(token: DeviceToken(token)) }
  private static func accepted(_ token: String) -> EndedPush {
    EndedPush(token: DeviceToken(token), outcome: .accepted, status: 200)
  }
  private static func open(_ token: String) -> EndedPush {
    EndedPush(token: DeviceToken(token), outcome: .open(after: .zero, isFault: false), reason: "busy")
  }

  /// A broadcast whose first page is requested.
  private func inProgress(from position: Position = start, open: [String] = []) -> BroadcastProgress {
    var progress = BroadcastProgress(emptyTally: Self.emptyTally)
    _ = progress.start()
    _ = progress.positioned(at: position, open: open.map { DeviceToken($0) })
    return progress
  }

  /// A broadcast with `count` pages of one push each in flight: `t0`, `t1` and so on. The next page is requested.
  private func inProgress(pages count: Int) -> BroadcastProgress {
    var progress = inProgress()
    for page in 0..<count {
      _ = progress.pageLocated(page, next: Self.position(page + 1))
      _ = progress.pageLoaded(page, [Self.device("t\(page)")])
      _ = progress.submitted(page, pushes: 1)
    }
    return progress
  }

  private func commits(_ actions: [BroadcastProgress.Action]) -> [Position] {
    actions.compactMap { if case .commit(_, let next) = $0 { next } else { nil } }
  }

  private func ending(_ actions: [BroadcastProgress.Action]) -> AttemptEnd? {
    actions.lazy.compactMap { if case .end(let ending) = $0 { ending } else { nil } }.first
  }

  // MARK: - In order

  @Test func `a broadcast of one page`() {
    var progress = BroadcastProgress(emptyTally: Self.emptyTally)
    #expect(progress.isWaiting)
    #expect(progress.start() == [.loadProgress])
    #expect(!progress.isWaiting)
    #expect(progress.positioned(at: Self.start, open: []) == [.fetch(from: .start, page: 0)])
    #expect(progress.pageLocated(0, next: .end) == [])
    #expect(progress.pageLoaded(0, [Self.device("a")]) == [.submit([Self.device("a")], page: 0)])
    #expect(progress.submitted(0, pushes: 1) == [])
    var tally = Self.emptyTally
    tally.record(Self.accepted("a"))
    #expect(
      progress.pushEnded(Self.accepted("a"), page: 0)
        == [.commit(tally, next: .end), .end(.init(extent: .complete))])
  }

  @Test func `an empty audience is committed and complete`() {
    var progress = inProgress()
    _ = progress.pageLocated(0, next: .end)
    #expect(progress.pageLoaded(0, []) == [.submit([], page: 0)])
    let actions = progress.submitted(0, pushes: 0)
    #expect(commits(actions) == [.end])
    #expect(ending(actions)?.extent == .complete)
  }

  @Test func `the next page is requested before the devices of the last one are there`() {
    var progress = inProgress()
    #expect(progress.pageLocated(0, next: Self.position(1)) == [.fetch(from: Self.cursor(1), page: 1)])
  }

  @Test func `pages are committed in order, even if their pushes end in another order`() {
    var progress = inProgress(pages: 3)
    #expect(progress.pushEnded(Self.accepted("t2"), page: 2) == [])
    #expect(progress.pushEnded(Self.accepted("t1"), page: 1) == [])
    let actions = progress.pushEnded(Self.accepted("t0"), page: 0)
    guard case .commit(let tally, let next)? = actions.first else { return #expect(Bool(false), "no commit") }
    #expect(next == Self.position(3))
    #expect(tally.result.accepted == 3)
    #expect(tally.result.results.map(\.token) == ["t0", "t1", "t2"])
  }

  @Test func `a page that is loaded before an earlier one waits for it`() {
    var progress = inProgress()
    _ = progress.pageLocated(0, next: Self.position(1))
    _ = progress.pageLocated(1, next: .end)
    #expect(progress.pageLoaded(1, [Self.device("b")]) == [])
    #expect(progress.pageLoaded(0, [Self.device("a")]) == [.submit([Self.device("a")], page: 0)])
    #expect(progress.submitted(0, pushes: 1) == [.submit([Self.device("b")], page: 1)])
  }

  @Test func `devices that APNs cannot reach are counted with their page`() {
    var progress = inProgress()
    _ = progress.pageLocated(0, next: .end)
    _ = progress.pageLoaded(0, [Self.device("a")])
    let unreachable = [UnreachableDevice(token: "a", reason: Tally.unsupportedPlatform)]
    guard case .commit(let tally, _)? = progress.submitted(0, pushes: 0, unreachable: unreachable).first else {
      return #expect(Bool(false), "no commit")
    }
    #expect(tally.result.failed == 1)
  }

  @Test func `users of a page get records instead of pushes`() {
    var progress = inProgress()
    _ = progress.pageLocated(0, next: .end)
    _ = progress.pageLoaded(0, [Self.device("a")])
    _ = progress.submitted(0, pushes: 1)
    let actions = progress.recordsKept(page: 0)
    #expect(commits(actions) == [.end])
    #expect(ending(actions)?.extent == .complete)
  }

  // MARK: - Limits

  @Test func `no more than the maximum of pages are in memory`() {
    let most = BroadcastProgress.maximumPages
    var progress = inProgress(pages: most - 1)
    #expect(progress.pageLocated(most - 1, next: Self.position(most)) == [])
    let actions = progress.pushEnded(Self.accepted("t0"), page: 0)
    #expect(actions.dropFirst() == [.fetch(from: Self.cursor(most), page: most)])
  }

  @Test func `what was read at once is submitted and committed in pages`() {
    let size = BroadcastProgress.pageSize
    var progress = inProgress()
    _ = progress.pageLocated(0, next: Self.position(9))
    let devices = (0..<2 * size + 1).map { Self.device("t\($0)") }
    // Page 1 was requested when page 0 was located, so the parts have the numbers 2, 3 and 0.
    #expect(progress.pageLoaded(0, devices) == [.submit(devices[..<size], page: 2)])
    #expect(progress.submitted(2, pushes: size) == [.submit(devices[size..<2 * size], page: 3)])
    #expect(progress.submitted(3, pushes: size) == [.submit(devices[(2 * size)...], page: 0)])
    #expect(progress.submitted(0, pushes: 1) == [])
    for number in 0..<size - 1 { _ = progress.pushEnded(Self.accepted("t\(number)"), page: 2) }
    let actions = progress.pushEnded(Self.accepted("t\(size - 1)"), page: 2)
    #expect(commits(actions) == [.cursor(AudienceCursor(after: "t\(size - 1)"))])
    #expect(commits(progress.pushEnded(Self.accepted("t\(2 * size)"), page: 0)) == [], "page 3 has not ended")
  }

  @Test func `a page waits while more pushes than the maximum would not be committed`() {
    var progress = BroadcastProgress(emptyTally: Self.emptyTally, maximumUncommitted: 3)
    _ = progress.start()
    _ = progress.positioned(at: Self.start, open: [])
    for page in 0..<2 { _ = progress.pageLocated(page, next: Self.position(page + 1)) }
    let devices = { (page: Int) in (0..<2).map { Self.device("t\(page)-\($0)") } }
    _ = progress.pageLoaded(0, devices(0))
    #expect(progress.pageLoaded(1, devices(1)) == [])
    #expect(progress.submitted(0, pushes: 2) == [], "2 and 2 are more than 3")
    #expect(progress.pushEnded(Self.accepted("t0-0"), page: 0) == [])
    let actions = progress.pushEnded(Self.accepted("t0-1"), page: 0)
    #expect(commits(actions) == [Self.position(1)])
    #expect(actions.last == .submit(devices(1)[...], page: 1))
  }

  @Test func `more than 1,000 open devices end the attempt`() {
    var progress = inProgress()
    _ = progress.pageLocated(0, next: Self.position(1))
    _ = progress.pageLoaded(0, [])
    _ = progress.submitted(0, pushes: BroadcastProgress.maximumOpen)
    for number in 1..<BroadcastProgress.maximumOpen {
      #expect(progress.pushEnded(Self.open("t\(number)"), page: 0) == [])
    }
    #expect(commits(progress.pushEnded(Self.open("t0"), page: 0)) == [Self.position(1)])
    // Page 1 was requested before.
    #expect(progress.pageLocated(1, next: Self.position(2)) == [])
    _ = progress.pageLoaded(1, [])
    let actions = progress.submitted(1, pushes: 0)
    #expect(commits(actions) == [Self.position(2)])
    #expect(ending(actions) == .init(extent: .cutShort))
  }

  // MARK: - Earlier attempts

  @Test func `devices left open come first, as a page of their own`() {
    var progress = BroadcastProgress(emptyTally: Self.emptyTally)
    _ = progress.start()
    #expect(progress.positioned(at: Self.position(4), open: ["a"]) == [.resolve(tokens: ["a"], page: 0)])
    #expect(
      progress.pageLoaded(0, [Self.device("a")])
        == [.fetch(from: Self.cursor(4), page: 1), .submit([Self.device("a")], page: 0)])
    _ = progress.submitted(0, pushes: 1)
    #expect(commits(progress.pushEnded(Self.accepted("a"), page: 0)) == [Self.position(4)])
  }

  @Test func `devices left open stay open if they cannot be looked up`() {
    var progress = inProgress(from: Self.position(4), open: ["a", "b"])
    let fault = AttemptEnd.Fault(reason: "down")
    #expect(
      progress.pageFailed(0, fault) == [.end(.init(extent: .cutShort, leftOpen: ["a", "b"], fault: fault))])
  }

  @Test func `a broadcast continues behind the cursor`() {
    var progress = BroadcastProgress(emptyTally: Self.emptyTally)
    _ = progress.start()
    let position = Position(text: Self.position(4).text)
    #expect(progress.positioned(at: position, open: []) == [.fetch(from: Self.cursor(4), page: 0)])
  }

  @Test func `a broadcast whose last page was committed only ends`() {
    var progress = BroadcastProgress(emptyTally: Self.emptyTally)
    _ = progress.start()
    #expect(progress.positioned(at: Position(text: "~"), open: []) == [.end(.init(extent: .complete))])
  }

  @Test func `the position behind the last page orders behind every cursor`() {
    #expect(Position.end.text > Self.position(8999).text)
    #expect(Position(text: "not a cursor") == Self.start)
  }

  // MARK: - Faults

  @Test func `if the progress cannot be read, nothing is touched`() {
    var progress = BroadcastProgress(emptyTally: Self.emptyTally)
    _ = progress.start()
    let fault = AttemptEnd.Fault(reason: "down")
    #expect(progress.positioningFailed(fault) == [.end(.init(extent: .untouched, fault: fault))])
    #expect(progress.positioned(at: Self.start, open: []) == [])
  }

  @Test func `a page that cannot be read ends the attempt behind the pages before it`() {
    var progress = inProgress(pages: 1)
    let fault = AttemptEnd.Fault(reason: "down", isOfJob: true)
    #expect(progress.pageFailed(1, fault) == [])
    let actions = progress.pushEnded(Self.accepted("t0"), page: 0)
    #expect(commits(actions) == [Self.position(1)])
    #expect(ending(actions) == .init(extent: .cutShort, fault: fault))
  }

  @Test func `a fault drops the pages behind it, submitted or not`() {
    var progress = inProgress()
    _ = progress.pageLocated(0, next: Self.position(1))
    _ = progress.pageLocated(1, next: .end)
    _ = progress.pageLoaded(1, [Self.device("b")])
    let fault = AttemptEnd.Fault(reason: "down")
    #expect(progress.pageFailed(0, fault) == [.end(.init(extent: .cutShort, fault: fault))])
    #expect(progress.pageLoaded(0, [Self.device("a")]) == [])
    #expect(progress.pageFailed(1, fault) == [])
  }

  @Test func `a refused payload ends the attempt, and it is not cut short`() {
    var progress = inProgress()
    _ = progress.pageLocated(0, next: Self.position(1))
    _ = progress.pageLoaded(0, [Self.device("a")])
    #expect(
      progress.refused(0, because: "PayloadTooLarge") == [.end(.init(extent: .complete, refusal: "PayloadTooLarge"))])
  }

  // MARK: - Stopped

  @Test(arguments: [false, true])
  func `a broadcast stopped before it is positioned touches nothing`(isStarted: Bool) {
    var progress = BroadcastProgress(emptyTally: Self.emptyTally)
    if isStarted { _ = progress.start() }
    #expect(progress.stop() == [.end(.init(extent: .untouched))])
    #expect(progress.start() == [])
    #expect(progress.positioned(at: Self.start, open: []) == [])
    #expect(progress.stop() == [])
  }

  @Test func `a stopped broadcast ends when the pushes in flight have`() {
    var progress = inProgress(pages: 2)
    #expect(progress.stop() == [])
    // Page 2 was requested before.
    #expect(progress.pageLocated(2, next: Self.position(3)) == [])
    #expect(progress.pageLoaded(2, [Self.device("t2")]) == [])
    #expect(commits(progress.pushEnded(Self.accepted("t0"), page: 0)) == [Self.position(1)])
    let actions = progress.pushEnded(Self.open("t1"), page: 1)
    #expect(commits(actions) == [Self.position(2)])
    #expect(ending(actions) == .init(extent: .cutShort))
  }

  @Test func `a broadcast stopped in its last page is complete`() {
    var progress = inProgress()
    _ = progress.pageLocated(0, next: .end)
    _ = progress.pageLoaded(0, [Self.device("a")])
    _ = progress.submitted(0, pushes: 1)
    #expect(progress.stop() == [])
    #expect(ending(progress.pushEnded(Self.accepted("a"), page: 0)) == .init(extent: .complete))
  }

  // MARK: - Ended

  @Test func `after a fenced job's broadcast is abandoned no action follows`() {
    var progress = inProgress(pages: 2)
    progress.abandon()
    #expect(progress.pushEnded(Self.accepted("t0"), page: 0) == [])
    #expect(progress.pageLocated(2, next: .end) == [])
    #expect(progress.pageFailed(2, .init(reason: "down")) == [])
    #expect(progress.stop() == [])
    #expect(progress.start() == [])
  }

  @Test func `a push that is reported twice is counted once`() {
    var progress = inProgress(pages: 2)
    #expect(commits(progress.pushEnded(Self.accepted("t0"), page: 0)) == [Self.position(1)])
    #expect(progress.pushEnded(Self.accepted("t0"), page: 0) == [])
    #expect(progress.submitted(1, pushes: 5) == [])
  }
}
