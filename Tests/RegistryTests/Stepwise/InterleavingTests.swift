import Testing

@testable import PushModel
@testable import Registry

/// Two operations on one token in every order of their commands, and with every crash.
struct InterleavingTests {
  private static let token = TokenModel.token
  private static let old = DeviceMetadata(username: "a", platform: .ios, updatedAt: 5, bundleID: "x", createdAt: 5)

  private static let operations: [DeviceOperation] = [
    register("a", app: "x", at: 10), register("b", app: "y", at: 11), register("", app: "x", at: 12),
    .take(DeviceMetadata(username: "b", platform: .ios, updatedAt: 13, bundleID: "x", createdAt: 1)),
    .giveBack(nil, written: old.json()), .renew("a", now: 14), .forget, .unregister("a"),
    .removeStale(StaleDevice(token: DeviceToken(token), owner: "a", bundleID: "x", notAfter: 20), now: 1000),
    .restore(DeviceMetadata(username: "c", platform: .ios, updatedAt: 15, bundleID: "x"), isAdmitted: false, now: 1000),
    .evict(user: "a", stored: old.json(), above: 0), .clean(.user("a")), .clean(.audience("x")), .repair,
    register("b", app: "y", at: 16).within(AppScope(["y"], else: nil)), .forget.within(AppScope(["y"], else: "y")),
  ]

  private static let starts: [TokenModel] = [
    TokenModel(metadata: nil), TokenModel(metadata: nil, sets: [.user("a"), .audience("x")]),
    TokenModel(metadata: old.json(), sets: [.user("a"), .audience("x")]),
    TokenModel(
      metadata: DeviceMetadata(username: "b", platform: .ios, updatedAt: 6, bundleID: "y").json(),
      sets: [.user("b"), .audience("y"), .user("a")]),
  ]

  private static func register(_ user: String, app: String, at now: Int64) -> DeviceOperation {
    .register(
      Registration(token: DeviceToken(token), username: Username(user), platform: .ios, bundleID: app, now: now))
  }

  @Test(arguments: InterleavingTests.operations.indices)
  func `a crash never leaves a set without a device that its metadata names`(index: Int) {
    let operation = Self.operations[index]
    for start in Self.starts {
      var model = start
      var actor = SteppedActor(operation, number: 1)
      while !actor.isDone {
        actor.advance(&model)
        var repaired = model
        if !model.journal.isEmpty { repaired.run(.repair) }
        #expect(repaired.isComplete, "\(operation)")
        // A device that makes room leaves the set first.
        if case .evict = operation { continue }
        #expect(model.isComplete, "\(operation)")
      }
    }
  }

  @Test(arguments: InterleavingTests.operations.indices)
  func `operations on one token at the same time leave the sets that its metadata names`(index: Int) {
    for other in Self.operations[index...] {
      for start in Self.starts {
        var exploration = Exploration(isExact: start.isSettled)
        exploration.explore(start, SteppedActor(Self.operations[index], number: 1), SteppedActor(other, number: 2))
        let fault = exploration.fault
        #expect(fault == nil, "\(Self.operations[index]) and \(other): \(fault ?? "")")
      }
    }
  }
}

/// Visits all states that two actors can reach.
private struct Exploration {
  private struct State: Hashable {
    let model: TokenModel
    let first: [Int]
    let second: [Int]
    let crashes: Int
  }

  /// Whether no set may contain the token in the end but those that its metadata names.
  let isExact: Bool
  private var visited: Set<State> = []
  private(set) var fault: String?

  init(isExact: Bool) {
    self.isExact = isExact
  }

  mutating func explore(_ model: TokenModel, _ first: SteppedActor, _ second: SteppedActor, crashes: Int = 0) {
    guard fault == nil else { return }
    let state = State(model: model, first: first.history, second: second.history, crashes: crashes)
    guard visited.insert(state).inserted else { return }
    if first.isDone, second.isDone { return judge(model, crashes: crashes) }
    for index in 0..<2 {
      var actors = [first, second]
      guard !actors[index].isDone else { continue }
      var changed = model
      actors[index].advance(&changed)
      explore(changed, actors[0], actors[1], crashes: crashes)
      actors = [first, second]
      actors[index].crash()
      explore(model, actors[0], actors[1], crashes: crashes + 1)
    }
  }

  private mutating func judge(_ model: TokenModel, crashes: Int) {
    if crashes == 0 {
      if !(isExact ? model.isSettled : model.isComplete && model.journal.isEmpty) { fault = "\(model)" }
      return
    }
    var model = model
    if !model.journal.isEmpty { model.run(.repair) }
    if !model.isComplete { fault = "after \(crashes) crashes: \(model)" }
  }
}
