import EventLoop
import Jobs
import PushModel
import Registry
import TestSupport
import Testing

@testable import Worker

/// A window that divides its permits among several apps.
@EventLoop
struct FairSendWindowTests {
  /// A window, the pushes that it has sent and the jobs that it has postponed.
  @EventLoop
  private final class Scene {
    let permits: Permits
    let window: SendWindow
    /// The pushes that have not ended, oldest first.
    var sent: [PushDraft] = []
    var log: [String] = []
    var postponed: [String] = []
    private var number = 0

    init(permits: Int, shares: [String: Int] = ["a": 1, "b": 1]) {
      self.permits = Permits(limit: permits)
      window = SendWindow(
        permits: self.permits,
        shares: Dictionary(
          uniqueKeysWithValues: shares.map { ($0.key, AppShare(app: $0.key, share: $0.value)) }))
      self.permits.onRelease { [weak self] in self?.sendWaiting() }
    }

    func enter(_ drafts: [PushDraft], permit: consuming Permit? = nil) {
      drafts.first?.delivery.permit = consume permit
      switch window.enter(drafts) {
      case .send(let draft): send(draft)
      case .wait: window.giveBack(drafts.first?.delivery.permit.take())
      case .postpone(let job): postpone(job)
      }
      sendWaiting()
    }

    private func sendWaiting() { while let draft = window.next() { send(draft) } }

    private func send(_ draft: PushDraft) {
      sent.append(draft)
      log.append(draft.device.token.text)
    }

    private func postpone(_ job: SendWindow.Postponed) {
      window.giveBack(job.delivery.permit.take())
      postponed.append(job.delivery.id)
      #expect(job.lane.name == String(job.delivery.id.prefix(1)))
      #expect(job.delay >= .milliseconds(180))
    }

    /// Claims a job of `app` as the fetcher does. Returns false if there is no permit.
    @discardableResult
    func claim(_ app: String, devices: Int = 1) throws -> Bool {
      guard permits.take(upTo: 1) == 1 else { return false }
      number += 1
      let json = #"{"id":"\#(app)\#(number)","to":{"user":"u"},"app":"\#(app)","title":"T"}"#
      let delivery = try Delivery.testing(json)
      enter(delivery.drafts(devices, named: "\(app)\(number)-", app: app), permit: .counted())
      return true
    }

    func inFlight(_ app: String) -> Int { sent.count { $0.content.bundleID == app } }

    /// The oldest push of an app ends.
    func end(_ app: String) {
      guard let index = sent.firstIndex(where: { $0.content.bundleID == app }) else { return }
      window.leave(sent.remove(at: index), isAnswered: true)
    }

    func endInterval() {
      for job in window.endInterval({ _, _ in }) { postpone(job) }
      sendWaiting()
    }
  }

  @Test func `while an app stalls, jobs of another are claimed and sent, and its own wait or are postponed`() throws {
    let scene = Scene(permits: 64)
    var claimed = 0
    // The app's jobs are claimed until they hold every permit.
    while try scene.claim("a") { claimed += 1 }
    #expect(scene.inFlight("a") == 56)
    #expect(claimed == 56 + 128 + 8)
    scene.endInterval()
    scene.endInterval()
    #expect(scene.postponed.count == 8)
    #expect(scene.permits.available == 8)
    for _ in 0..<5000 { #expect(try scene.claim("a")) }
    #expect(scene.postponed.count == 5008)
    for _ in 0..<200 {
      #expect(try scene.claim("b"))
      #expect(scene.inFlight("b") == 1)
      scene.end("b")
    }
    #expect(scene.inFlight("a") == 56)
  }

  @Test func `what was postponed is the newest, and the jobs of an app are sent in the order of their claims`() throws {
    let scene = Scene(permits: 16)
    while try scene.claim("a") {}
    scene.endInterval()
    scene.endInterval()
    #expect(scene.postponed == ["a143", "a144"])
    while scene.inFlight("a") > 0 { scene.end("a") }
    #expect(scene.log == (1...142).map { "a\($0)-0" })
    #expect(scene.permits.taken == 0)
  }

  @Test func `jobs of a quick app keep their permits instead of being postponed`() throws {
    let scene = Scene(permits: 16)
    for _ in 0..<20 {
      for _ in 0..<2000 {
        while try scene.claim("a") {}
        scene.end("a")
      }
      scene.endInterval()
    }
    #expect(scene.postponed.isEmpty)
    while scene.inFlight("a") > 0 { scene.end("a") }
    #expect(scene.permits.taken == 0)
  }

  @Test func `two apps with work get permits by their shares`() throws {
    let scene = Scene(permits: 64, shares: ["a": 3, "b": 1])
    for step in 0..<4000 {
      try scene.claim(step % 2 == 0 ? "a" : "b")
      if step % 4 == 0 { scene.end("a") }
      if step % 4 == 2 { scene.end("b") }
      if step % 500 == 0 { scene.endInterval() }
    }
    #expect((38...46).contains(scene.inFlight("a")))
    #expect((12...17).contains(scene.inFlight("b")))
  }

  @Test func `a broadcast of a stalled app leaves pushes to the broadcast of another`() throws {
    let scene = Scene(permits: 64)
    let many = try Delivery.testing(#"{"id":"A","to":{"app":"a"},"title":"T"}"#)
    scene.enter(many.drafts(1000, named: "A", app: "a"))
    #expect(scene.inFlight("a") == 56)
    let others = try Delivery.testing(#"{"id":"B","to":{"app":"b"},"title":"T"}"#)
    scene.enter(others.drafts(1000, named: "B", app: "b"))
    #expect(scene.inFlight("b") >= 5)
    for _ in 0..<1000 { scene.end("b") }
    #expect(scene.log.count { $0.hasPrefix("B") } == 1000)
    #expect(scene.inFlight("a") == 56)
    #expect(scene.permits.available == 8)
  }

  @Test func `the devices of a job may be of several apps`() throws {
    let scene = Scene(permits: 64)
    let delivery = try Delivery.testing(#"{"id":"m","to":{"user":"u"},"title":"T"}"#)
    let drafts = delivery.drafts(3, named: "x", app: "a") + delivery.drafts(2, named: "y", app: "b")
    #expect(scene.permits.take(upTo: 1) == 1)
    scene.enter(drafts, permit: .counted())
    #expect(scene.inFlight("a") == 3)
    #expect(scene.inFlight("b") == 2)
    for _ in 0..<3 { scene.end("a") }
    for _ in 0..<2 { scene.end("b") }
    #expect(scene.permits.taken == 0)
  }

  @Test func `drained pushes are never sent, and no permit is lost`() throws {
    let scene = Scene(permits: 16)
    var claimed = 0
    while try scene.claim("a", devices: 2) { claimed += 1 }
    let sent = scene.log.count
    let drained = scene.window.drainWaiting()
    #expect(drained.count == 2 * claimed - sent)
    while scene.inFlight("a") > 0 { scene.end("a") }
    #expect(scene.log.count == sent)
    #expect(scene.permits.taken == 0)
    #expect(scene.window.lanes.all.count { !$0.isIdle } == 0)
  }

  @Test func `answers that are slow for one app lower only its limit`() throws {
    let scene = Scene(permits: 512)
    for _ in 0..<100 { try scene.claim("a") }
    for _ in 0..<20 {
      for _ in 0..<10 {
        try scene.claim("b")
        scene.end("b")
      }
      scene.endInterval()
    }
    let limits = Dictionary(uniqueKeysWithValues: scene.window.lanes.all.map { ($0.name, $0.app.limit) })
    #expect(limits == ["a": 358, "b": 512])
    #expect(scene.permits.limit == 512)
  }

  /// Jobs of some apps are claimed, pushes end, apps stall: nothing is lost, sent twice or out of order.
  @Test(arguments: 1...20) func `random walks lose no job and no permit`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let scene = Scene(permits: Int.random(in: 4...100, using: &random), shares: ["a": 1, "b": 2, "c": 5])
    let apps = ["a", "b", "c"]
    var claimed = 0
    for step in 0..<2000 {
      let app = apps[Int.random(in: 0..<3, using: &random)]
      if try scene.claim(app, devices: Int.random(in: 1...3, using: &random)) { claimed += 1 }
      let stalled = apps[step / 400 % 3]
      let other = apps[Int.random(in: 0..<3, using: &random)]
      if other != stalled { for _ in 0..<Int.random(in: 0...5, using: &random) { scene.end(other) } }
      if step % 50 == 0 { scene.endInterval() }
      #expect(scene.permits.taken <= scene.permits.maximum)
      #expect(scene.sent.count <= scene.permits.taken)
    }
    while !scene.sent.isEmpty { for app in apps { scene.end(app) } }
    #expect(scene.permits.taken == 0)
    #expect(Set(scene.log).count == scene.log.count)
    let started = Set(scene.log.compactMap { $0.split(separator: "-").first.map(String.init) })
    #expect(started.count + scene.postponed.count == claimed)
    #expect(started.isDisjoint(with: scene.postponed))
    for app in apps {
      let order = scene.log.filter { $0.hasPrefix(app) && $0.hasSuffix("-0") }.compactMap {
        Int($0.dropFirst().dropLast(2))
      }
      #expect(order == order.sorted())
    }
  }
}
