import Testing

@testable import HTTPServer

/// Which connections are closed so that the others fit.
struct RequestBudgetTests {
  private static let own = RequestBudget.connectionBytes

  /// Room for `connections`, and for `bytes` of their requests.
  private func budget(connections: Int, bytes: Int = 0, _ change: (inout RequestBudget.Limits) -> Void = { _ in })
    -> Account
  {
    var limits = RequestBudget.Limits()
    limits.bytes = connections * Self.own + bytes
    change(&limits)
    return Account(limits)
  }

  /// A budget whose changes can stand in an expectation.
  private final class Account {
    private var budget: RequestBudget

    init(_ limits: RequestBudget.Limits) { budget = RequestBudget(limits) }

    var bytes: Int { budget.bytes }
    var connections: Int { budget.connections }

    func open(_ id: UInt, client: String?, hasTLS: Bool) -> [UInt] { budget.open(id, client: client, hasTLS: hasTLS) }
    func enter(_ phase: RequestBudget.Phase, _ id: UInt) -> [UInt] { budget.enter(phase, id) }
    func charge(_ bytes: Int, _ id: UInt) -> [UInt] { budget.charge(bytes, id) }
    func close(_ id: UInt) { budget.close(id) }
    func reduce(to count: Int) -> [UInt] { budget.reduce(to: count) }
    func endsWave() -> Bool { budget.endsWave() }
  }

  @Test func `what is closed or answered takes nothing`() {
    let budget = budget(connections: 4, bytes: 100_000)
    #expect(budget.open(1, client: "a", hasTLS: false) == [])
    #expect(budget.charge(50_000, 1) == [])
    #expect(budget.enter(.answering, 1) == [])
    #expect(budget.bytes == Self.own + 50_000)
    #expect(budget.enter(.waiting, 1) == [])
    #expect(budget.bytes == Self.own)
    #expect(budget.enter(.receiving, 1) == [])
    #expect(budget.charge(10, 1) == [])
    budget.close(1)
    budget.close(1)
    #expect(budget.bytes == 0)
    #expect(budget.connections == 0)
    #expect(budget.enter(.waiting, 1) == [] && budget.charge(10, 1) == [])
    #expect(budget.bytes == 0)
  }

  @Test func `beyond the budget the largest requests of the client with most are closed`() {
    let budget = budget(connections: 6, bytes: 100_000)
    for id in 1...4 as ClosedRange<UInt> { _ = budget.open(id, client: "many", hasTLS: false) }
    _ = budget.open(5, client: "victim", hasTLS: false)
    #expect(budget.charge(1000, 5) == [])
    for id in 1...3 as ClosedRange<UInt> { #expect(budget.charge(30_000 + Int(id), id) == []) }
    #expect(budget.charge(60_000, 4) == [4])
    #expect(budget.bytes < 6 * Self.own + 100_000)
  }

  @Test func `many clients with one large request each do not close a small one`() {
    let budget = budget(connections: 20, bytes: 500_000)
    _ = budget.open(1000, client: "victim", hasTLS: false)
    #expect(budget.charge(500, 1000) == [])
    var closed: [RequestBudget.ID] = []
    for id in 1...19 as ClosedRange<UInt> {
      closed += budget.open(id, client: "client \(id)", hasTLS: false)
      closed += budget.charge(64_900, id)
    }
    #expect(!closed.isEmpty && !closed.contains(1000))
  }

  @Test func `idle connections of many clients do not close a request that has begun`() {
    let budget = budget(connections: 20)
    var closed: [RequestBudget.ID] = []
    for id in 1...19 as ClosedRange<UInt> {
      closed += budget.open(id, client: "client \(id)", hasTLS: false)
      closed += budget.enter(.waiting, id)
    }
    #expect(closed == [])
    #expect(budget.open(20, client: "victim", hasTLS: false) == [])
    // The longest waiting ones.
    #expect(budget.charge(2000, 20) == [1, 2])
  }

  @Test func `a complete request stays`() {
    let budget = budget(connections: 2, bytes: 60_000)
    _ = budget.open(1, client: "a", hasTLS: false)
    #expect(budget.charge(60_000, 1) == [])
    #expect(budget.enter(.answering, 1) == [])
    #expect(budget.open(2, client: "b", hasTLS: false) == [])
    #expect(budget.charge(100, 2) == [2])
  }

  @Test func `a client has a share of the requests that have not arrived, and loses the oldest`() {
    let budget = budget(connections: 100) { $0.requestsOfClient = 3 }
    var closed: [RequestBudget.ID] = []
    for id in 1...5 as ClosedRange<UInt> { closed += budget.open(id, client: "a", hasTLS: false) }
    #expect(closed == [1, 2])
    #expect(budget.enter(.answering, 3) == [])
    #expect(budget.open(6, client: "a", hasTLS: false) == [])
    #expect(budget.open(7, client: "b", hasTLS: false) == [])
    // A connection that goes on to its next request counts as new.
    #expect(budget.enter(.receiving, 3) == [4])
  }

  @Test func `handshakes have shares of a client and of all`() {
    let budget = budget(connections: 100) {
      $0.handshakesOfClient = 2
      $0.handshakes = 4
    }
    var closed: [RequestBudget.ID] = []
    for id in 1...3 as ClosedRange<UInt> { closed += budget.open(id, client: "a", hasTLS: true) }
    #expect(closed == [1])
    #expect(budget.open(4, client: "b", hasTLS: true) == [])
    #expect(budget.open(5, client: "c", hasTLS: true) == [])
    // Of the client with most.
    #expect(budget.open(6, client: "d", hasTLS: true) == [2])
    #expect(budget.enter(.receiving, 3) == [])
    #expect(budget.open(7, client: "e", hasTLS: true) == [])
    #expect(budget.bytes == 5 * RequestBudget.connectionBytesWithTLS)
  }

  @Test func `connections of a proxy have no share together`() {
    let budget = budget(connections: 100) {
      $0.requestsOfClient = 2
      $0.handshakesOfClient = 2
    }
    for id in 1...20 as ClosedRange<UInt> { #expect(budget.open(id, client: nil, hasTLS: id > 10) == []) }
    #expect(budget.connections == 20)
  }

  @Test func `a nearly full server closes connections of the client with most first, and keeps complete requests`() {
    let budget = budget(connections: 100)
    var next: RequestBudget.ID = 0
    func open(_ client: String, _ count: Int) {
      for _ in 0..<count {
        next += 1
        #expect(budget.open(next, client: client, hasTLS: false) == [])
        #expect(budget.enter(.waiting, next) == [])
      }
    }
    open("a", 2)
    open("b", 5)
    open("c", 1)
    #expect(budget.enter(.answering, 7) == [])
    #expect(budget.reduce(to: 8) == [])
    // 5, 4 and 3 of b, then 2 of a and b.
    #expect(budget.reduce(to: 3) == [3, 4, 5, 1, 6])
    #expect(budget.reduce(to: 0) == [2, 8])
    #expect(budget.connections == 1)
  }

  @Test func `a wave ends when much was given back`() {
    let budget = budget(connections: 1000)
    for id in 0..<200 as Range<UInt> { #expect(budget.open(id, client: nil, hasTLS: false) == []) }
    #expect(!budget.endsWave())
    for id in 0..<150 as Range<UInt> { budget.close(id) }
    #expect(budget.endsWave())
    #expect(!budget.endsWave())
  }
}
