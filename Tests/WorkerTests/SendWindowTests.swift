import EventLoop
import PushModel
import Registry
import TestSupport
import Testing

@testable import Worker

@EventLoop
struct SendWindowTests {
  /// A window and what it has sent.
  @EventLoop
  private final class Scene {
    private let window: SendWindow
    /// The tokens of the drafts that were sent, in their order.
    private(set) var tokens: [String] = []
    /// Those whose pushes have not ended.
    private var drafts: [PushDraft] = []

    init(_ permits: Permits) {
      window = SendWindow(permits: permits)
      permits.onRelease { [weak self] in self?.sendWaiting() }
    }

    func enter(_ drafts: [PushDraft], permit: consuming Permit? = nil) {
      drafts.first?.delivery.permit = consume permit
      if case .send(let draft) = window.enter(drafts) { send(draft) }
      sendWaiting()
    }

    /// The oldest push ends.
    func leave() { window.leave(drafts.removeFirst(), isAnswered: true) }

    func drainWaiting() -> [PushDraft] { window.drainWaiting() }

    private func sendWaiting() { while let draft = window.next() { send(draft) } }

    private func send(_ draft: PushDraft) {
      tokens.append(draft.device.token.text)
      drafts.append(draft)
    }
  }

  private func drafts(_ count: Int, of name: String) throws -> [PushDraft] {
    try Delivery.testing(#"{"id":"\#(name)","to":{"user":"alice"},"title":"T"}"#).drafts(count, named: name)
  }

  @Test func `the first push of a job uses the job's permit`() throws {
    let permits = Permits(limit: 1)
    #expect(permits.take(upTo: 1) == 1)
    let scene = Scene(permits)
    scene.enter(try drafts(1, of: "a"), permit: .counted())
    #expect(scene.tokens == ["a0"])
    scene.leave()
    #expect(permits.taken == 0)
  }

  @Test func `further pushes leave an eighth of the permits to new claims`() throws {
    let permits = Permits(limit: 16)
    #expect(permits.take(upTo: 1) == 1)
    let scene = Scene(permits)
    scene.enter(try drafts(20, of: "a"), permit: .counted())
    #expect(scene.tokens.count == 14)
    #expect(permits.available == 2)
  }

  @Test func `with no push in flight the reserve is used too`() throws {
    let permits = Permits(limit: 8)
    #expect(permits.take(upTo: 7) == 7)
    let scene = Scene(permits)
    scene.enter(try drafts(3, of: "a"))
    #expect(scene.tokens == ["a0"])
    #expect(permits.available == 0)
  }

  @Test func `jobs take turns, one push each`() throws {
    let permits = Permits(limit: 1)
    #expect(permits.take(upTo: 1) == 1)
    let scene = Scene(permits)
    scene.enter(try drafts(5, of: "a"), permit: .counted())
    scene.enter(try drafts(2, of: "b"))
    for _ in 0..<7 { scene.leave() }
    #expect(scene.tokens == ["a0", "a1", "b0", "a2", "b1", "a3", "a4"])
    #expect(permits.taken == 0)
  }

  @Test func `pushes of a job that has pushes waiting go behind them`() throws {
    let permits = Permits(limit: 1)
    #expect(permits.take(upTo: 1) == 1)
    let scene = Scene(permits)
    let all = try drafts(4, of: "a")
    scene.enter(Array(all[..<2]))
    scene.enter(Array(all[2...]))
    permits.release()
    for _ in 0..<3 { scene.leave() }
    #expect(scene.tokens == ["a0", "a1", "a2", "a3"])
  }

  @Test func `a permit that a claim returns lets a push go`() throws {
    let permits = Permits(limit: 8)
    #expect(permits.take(upTo: 8) == 8)
    let scene = Scene(permits)
    scene.enter(try drafts(2, of: "a"))
    #expect(scene.tokens.isEmpty)
    permits.release()
    #expect(scene.tokens == ["a0"])
    permits.release(2)
    #expect(scene.tokens == ["a0", "a1"])
  }

  @Test func `drained pushes are returned in the order of their turns and never sent`() throws {
    let permits = Permits(limit: 1)
    #expect(permits.take(upTo: 1) == 1)
    let scene = Scene(permits)
    scene.enter(try drafts(3, of: "a"), permit: .counted())
    scene.enter(try drafts(1, of: "b"))
    #expect(scene.drainWaiting().map(\.device.token) == ["a1", "a2", "b0"])
    #expect(scene.drainWaiting().isEmpty)
    scene.leave()
    #expect(scene.tokens == ["a0"])
    #expect(permits.taken == 0)
  }

  @Test func `many waiting pushes are all sent, in their order`() throws {
    let permits = Permits(limit: 1)
    let scene = Scene(permits)
    scene.enter(try drafts(10_000, of: "a"))
    for _ in 0..<10_000 { scene.leave() }
    #expect(scene.tokens == (0..<10_000).map { "a\($0)" })
    #expect(permits.taken == 0)
  }
}
