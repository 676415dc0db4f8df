import EventLoop
import Registry
import Testing

@testable import Worker

@EventLoop
struct SendWindowTests {
  /// The tokens of the drafts that a window has sent, in their order.
  @EventLoop
  private final class Sent {
    var tokens: [String] = []
    /// Those whose pushes have not ended.
    var drafts: [PushDraft] = []
  }

  /// The oldest push ends.
  private func leave(_ window: SendWindow) { window.leave(sent.drafts.removeFirst(), isAnswered: true) }

  private let sent = Sent()

  private func window(_ permits: Permits) -> SendWindow {
    let window = SendWindow(permits: permits)
    window.connect { [sent] in
      sent.tokens.append($0.device.token)
      sent.drafts.append($0)
    } putOff: { _, _, _ in
    }
    return window
  }

  private func drafts(_ count: Int, of name: String) throws -> [PushDraft] {
    try Delivery.testing(#"{"id":"\#(name)","to":{"user":"alice"},"title":"T"}"#).drafts(count, named: name)
  }

  @Test func `the first push of a job uses the job's permit`() throws {
    let permits = Permits(limit: 1)
    #expect(permits.take(upTo: 1) == 1)
    let window = window(permits)
    window.enter(try drafts(1, of: "a"), permit: .counted())
    #expect(sent.tokens == ["a0"])
    leave(window)
    #expect(permits.taken == 0)
  }

  @Test func `further pushes leave an eighth of the permits to new claims`() throws {
    let permits = Permits(limit: 16)
    #expect(permits.take(upTo: 1) == 1)
    let window = window(permits)
    window.enter(try drafts(20, of: "a"), permit: .counted())
    #expect(sent.tokens.count == 14)
    #expect(permits.available == 2)
  }

  @Test func `with no push in flight the reserve is used too`() throws {
    let permits = Permits(limit: 8)
    #expect(permits.take(upTo: 7) == 7)
    let window = window(permits)
    window.enter(try drafts(3, of: "a"))
    #expect(sent.tokens == ["a0"])
    #expect(permits.available == 0)
  }

  @Test func `jobs take turns, one push each`() throws {
    let permits = Permits(limit: 1)
    #expect(permits.take(upTo: 1) == 1)
    let window = window(permits)
    window.enter(try drafts(5, of: "a"), permit: .counted())
    window.enter(try drafts(2, of: "b"))
    for _ in 0..<7 { leave(window) }
    #expect(sent.tokens == ["a0", "a1", "b0", "a2", "b1", "a3", "a4"])
    #expect(permits.taken == 0)
  }

  @Test func `pushes of a job that has pushes waiting go behind them`() throws {
    let permits = Permits(limit: 1)
    #expect(permits.take(upTo: 1) == 1)
    let window = window(permits)
    let all = try drafts(4, of: "a")
    window.enter(Array(all[..<2]))
    window.enter(Array(all[2...]))
    permits.release()
    for _ in 0..<3 { leave(window) }
    #expect(sent.tokens == ["a0", "a1", "a2", "a3"])
  }

  @Test func `a permit that a claim returns lets a push go`() throws {
    let permits = Permits(limit: 8)
    #expect(permits.take(upTo: 8) == 8)
    let window = window(permits)
    window.enter(try drafts(2, of: "a"))
    #expect(sent.tokens.isEmpty)
    permits.release()
    #expect(sent.tokens == ["a0"])
    permits.release(2)
    #expect(sent.tokens == ["a0", "a1"])
  }

  @Test func `drained pushes are returned in the order of their turns and never sent`() throws {
    let permits = Permits(limit: 1)
    #expect(permits.take(upTo: 1) == 1)
    let window = window(permits)
    window.enter(try drafts(3, of: "a"), permit: .counted())
    window.enter(try drafts(1, of: "b"))
    #expect(window.drainWaiting().map(\.device.token) == ["a1", "a2", "b0"])
    #expect(window.drainWaiting().isEmpty)
    leave(window)
    #expect(sent.tokens == ["a0"])
    #expect(permits.taken == 0)
  }

  @Test func `many waiting pushes are all sent, in their order`() throws {
    let permits = Permits(limit: 1)
    let window = window(permits)
    window.enter(try drafts(10_000, of: "a"))
    for _ in 0..<10_000 { leave(window) }
    #expect(sent.tokens == (0..<10_000).map { "a\($0)" })
    #expect(permits.taken == 0)
  }
}
