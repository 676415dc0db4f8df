import TestSupport
import Testing

@testable import Worker

struct FairSharesTests {
  /// Shares with these apps, whose pushes never end unless a test ends them.
  private struct Scene {
    var shares: FairShares
    var apps: [FairShares.App]

    init(limit: Int, apps: [Int]) {
      shares = FairShares(limit: limit)
      self.apps = apps.map { FairShares.App(share: $0, limit: limit) }
    }

    /// Sends as many pushes as the app may have in flight.
    mutating func fill(_ index: Int) {
      while shares.maySend(apps[index]) { shares.sent(&apps[index]) }
    }

    mutating func end(_ index: Int) { shares.ended(&apps[index]) }
  }

  @Test(arguments: [8, 64, 512]) func `an app alone gets all but an eighth`(limit: Int) {
    var scene = Scene(limit: limit, apps: [1])
    scene.fill(0)
    #expect(scene.apps[0].inFlight == limit * 7 / 8)
  }

  @Test func `the share of an app alone does not matter`() {
    var scene = Scene(limit: 512, apps: [1, 100])
    scene.fill(0)
    #expect(scene.apps[0].inFlight == 448)
  }

  @Test func `apps that always have work get seven eighths by their shares`() {
    var scene = Scene(limit: 512, apps: [1, 2, 4])
    // The pushes in flight end one by one, whoever's they are, and every app sends what it may.
    scene.fill(0)
    for step in 0..<5000 {
      let ending = step % 3
      if scene.apps[ending].inFlight > 1 { scene.end(ending) }
      for index in 0..<3 { scene.fill((step + index) % 3) }
    }
    #expect((60...68).contains(scene.apps[0].inFlight))
    #expect((122...132).contains(scene.apps[1].inFlight))
    #expect((248...260).contains(scene.apps[2].inFlight))
  }

  @Test func `an app that begins while another holds all it may gets pushes in flight at once`() {
    var scene = Scene(limit: 512, apps: [1, 1, 1])
    scene.fill(0)
    scene.fill(1)
    #expect(scene.apps[1].inFlight >= 45)
    scene.fill(2)
    #expect(scene.apps[2].inFlight >= 8)
    #expect(scene.shares.inFlight < 512)
  }

  @Test func `an app above its share sends nothing until it is below`() {
    var scene = Scene(limit: 512, apps: [1, 1])
    scene.fill(0)
    scene.fill(1)
    for _ in 0..<100 {
      scene.end(0)
      scene.fill(1)
    }
    #expect(!scene.shares.maySend(scene.apps[0]))
    while !scene.shares.maySend(scene.apps[0]) {
      scene.end(0)
      scene.fill(1)
    }
    #expect((220...228).contains(scene.apps[0].inFlight))
    #expect((220...228).contains(scene.apps[1].inFlight))
  }

  @Test func `an app without pushes in flight may send one while any permit is free`() {
    var scene = Scene(limit: 16, apps: Array(repeating: 1, count: 20))
    for index in 0..<20 { scene.fill(index) }
    #expect(scene.apps.count { $0.inFlight > 0 } == 3)
    #expect(scene.shares.inFlight == 16)
  }

  @Test func `a slow app has its own limit`() {
    var scene = Scene(limit: 512, apps: [1, 1])
    scene.apps[0].limit = 32
    scene.fill(0)
    scene.fill(1)
    #expect(scene.apps[0].inFlight == 32)
    #expect(scene.apps[1].inFlight >= 350)
  }

  @Test func `jobs beyond the share wait, half of the room for one app, then they hold their permits or are postponed`()
  {
    var scene = Scene(limit: 64, apps: [1, 1])
    scene.fill(0)
    for _ in 0..<128 {
      #expect(scene.shares.decide(scene.apps[0], bytes: 500) == .wait)
      scene.shares.began(waiting: 500, &scene.apps[0])
    }
    #expect(scene.shares.decide(scene.apps[0], bytes: 500) == .waitWithPermit)
    scene.apps[0].isSlow = true
    #expect(scene.shares.decide(scene.apps[0], bytes: 500) == .postpone)
    #expect(scene.shares.decide(scene.apps[1], bytes: 500) == .send)
  }

  @Test func `large jobs are bounded by their bytes`() {
    var scene = Scene(limit: 64, apps: [1])
    scene.fill(0)
    var count = 0
    while scene.shares.decide(scene.apps[0], bytes: 64 * 1024) == .wait {
      scene.shares.began(waiting: 64 * 1024, &scene.apps[0])
      count += 1
    }
    #expect(count == 32)
  }

  @Test func `a job never overtakes one that waits`() {
    var scene = Scene(limit: 64, apps: [1])
    scene.shares.began(waiting: 1, &scene.apps[0])
    #expect(scene.shares.decide(scene.apps[0], bytes: 1) == .wait)
    scene.shares.stopped(waiting: 1, &scene.apps[0])
    #expect(scene.shares.decide(scene.apps[0], bytes: 1) == .send)
  }

  @Test func `a changed share counts at once`() {
    var scene = Scene(limit: 512, apps: [1, 1])
    scene.shares.sent(&scene.apps[0])
    scene.shares.setShare(3, &scene.apps[0])
    #expect(scene.shares.activeShares == 3)
    scene.shares.setShare(5, &scene.apps[1])
    #expect(scene.shares.activeShares == 3)
    scene.shares.sent(&scene.apps[1])
    #expect(scene.shares.activeShares == 8)
  }

  /// Apps come and go, stall and recover. After each step, the sum is within the limit, the counts agree, and an app
  /// with work and a small part in flight may send.
  @Test(arguments: 1...40) func `random walks keep the sum within the limit and starve no app`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let count = Int.random(in: 1...12, using: &random)
    let limit = Int.random(in: 1...600, using: &random)
    var scene = Scene(limit: limit, apps: (0..<count).map { _ in Int.random(in: 1...9, using: &random) })
    for _ in 0..<3000 {
      let index = Int.random(in: 0..<count, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: scene.fill(index)
      case 1: if scene.shares.maySend(scene.apps[index]) { scene.shares.sent(&scene.apps[index]) }
      case 2, 3:
        for _ in 0..<min(scene.apps[index].inFlight, Int.random(in: 0...20, using: &random)) { scene.end(index) }
      case 4: scene.shares.began(waiting: 10, &scene.apps[index])
      default: if scene.apps[index].waitingJobs > 0 { scene.shares.stopped(waiting: 10, &scene.apps[index]) }
      }
      expectConsistent(scene, limit)
    }
  }

  private func expectConsistent(_ scene: Scene, _ limit: Int) {
    #expect(scene.shares.inFlight <= limit)
    #expect(scene.shares.inFlight == scene.apps.reduce(0) { $0 + $1.inFlight })
    #expect(scene.shares.waitingJobs == scene.apps.reduce(0) { $0 + $1.waitingJobs })
    let active = scene.apps.filter(\.isActive).reduce(0) { $0 + $1.share }
    #expect(scene.shares.activeShares == active)
    // Guaranteed while all others keep to their shares.
    let areWithinShares = scene.apps.allSatisfy { $0.inFlight * active <= limit * 7 / 8 * $0.share }
    for app in scene.apps where app.isActive && areWithinShares {
      let isBelow = (app.inFlight + 1) * active <= limit * 7 / 8 * app.share
      #expect(!isBelow || scene.shares.maySend(app))
    }
  }
}
