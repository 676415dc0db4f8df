import EventLoop
import TestSupport

/// Chooses the jobs of the load.
struct JobMaker {
  private static let broadcastEvery = 600
  private static let maximumDelayMilliseconds = 4000
  /// Of the jobs to a user whose device may change its owner, with ``crosses``.
  private static let crossEvery = 2
  private static let separators = ["-", ":", ".", "_"]

  private let prefix: String
  private let population: Population
  /// Whether some jobs are addressed to another user than the evidence says: what a fleet that takes one for the other does.
  private let crosses: Bool
  private var generator: SeededGenerator
  private var number = 0

  init(seed: UInt64, population: Population, crosses: Bool = false) {
    self.crosses = crosses
    prefix = "chaos-\(seed)"
    self.population = population
    // Another sequence than the plan's.
    generator = SeededGenerator(seed: ~seed)
  }

  /// A job and its JSON.
  typealias Made = (job: ProducedJob, json: String)

  mutating func next() -> Made {
    number += 1
    if number.isMultiple(of: JobMaker.broadcastEvery) { return broadcast() }
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<30: return single()
    case 30..<35: return single(#","dedupe":"\#(HardNames.text(number))""#)
    case 35..<45: return single(#","ttl":86400"#)
    case 45..<55: return atMostOnce()
    case 55..<65: return scheduled()
    case 65..<70: return several()
    case 70..<90: return user()
    default: return toMover()
    }
  }

  /// A job to a user whose device may change its owner.
  mutating func job(to user: HardName, device: String) -> Made {
    number += 1
    return make(.user(user, device: device), to: #"{"user":"\#(written(user))"}"#)
  }

  /// A job to a device of a user, which stays registered.
  mutating func job(toDevice token: String, of user: HardName) -> Made {
    number += 1
    let owner = Bool.random(using: &generator) ? #""user":"\#(written(user))","# : ""
    return make(.devices([token]), to: #"{\#(owner)"token":"\#(token)"}"#)
  }

  private func single(_ members: String = "") -> Made {
    let token = Population.token(.single, number)
    return make(.devices([token]), to: #"{"token":"\#(token)"}"#, members)
  }

  private func atMostOnce() -> Made {
    var made = single(#","atMostOnce":true"#)
    made.job.isAtMostOnce = true
    return made
  }

  private mutating func scheduled() -> Made {
    let delay = Int64.random(in: 200...Int64(JobMaker.maximumDelayMilliseconds), using: &generator)
    let due = Clock.unixMilliseconds + delay
    var made = single(#","sendAt":\#(due)"#)
    made.job.notBefore = UInt64(due) * 1_000_000
    return made
  }

  private func several() -> Made {
    let tokens = (0..<3).map { Population.token(.single, number * 10 + $0 + 1_000_000_000) }
    return make(.devices(tokens), to: #"{"tokens":[\#(tokens.map { "\"\($0)\"" }.joined(separator: ","))]}"#)
  }

  private mutating func user() -> Made {
    let user = population.users[Int.random(in: 0..<population.users.count, using: &generator)]
    return make(.devices(user.devices), to: #"{"user":"\#(written(user.name))"}"#)
  }

  private mutating func toMover() -> Made {
    let device = population.moving[Int.random(in: 0..<population.moving.count, using: &generator)]
    let user = device.users[Int.random(in: 0..<device.users.count, using: &generator)]
    let isCrossed = crosses && number.isMultiple(of: JobMaker.crossEvery)
    let addressee = isCrossed ? device.users.first { $0 != user } ?? user : user
    return make(.user(user, device: device.token), to: #"{"user":"\#(written(addressee))"}"#)
  }

  private mutating func written(_ user: HardName) -> String { user.spelled(using: &generator) }

  private func broadcast() -> Made {
    make(.devices(population.audience), to: #"{"app":"\#(Population.broadcastApp)"}"#)
  }

  private func make(_ addressee: ProducedJob.Addressee, to: String, _ members: String = "") -> Made {
    let id = "\(prefix)\(JobMaker.separators[number % JobMaker.separators.count])\(number)"
    let job = ProducedJob(id: id, addressee: addressee, sent: Clock.unixNanoseconds)
    return (job, #"{"id":"\#(id)","to":\#(to),"title":"Chaos","collapseId":"\#(id)"\#(members)}"#)
  }
}
