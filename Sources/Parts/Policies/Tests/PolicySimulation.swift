import Foundation
import Operations
import TestSupport

@testable import Jobs
@testable import Policies

/// Producers, workers and a gateway for a few instances, driven by random numbers. The states are bytes in a dictionary.
struct PolicySimulation {
  private struct Job {
    let number: Int
    let instance: Int
    let className: String
    /// Unix ms.
    let expiration: Int64?
    /// The number of refusals and crashes left for this job.
    var misfortunes: Int
  }

  private static let instances = 3
  private static let week: Int64 = 7 * 86_400_000
  private static let classes = ["attention_ping", "action_needed", "message_delivered", "safety_critical"]

  private let policy = PolicyBook.standard.policies[0]
  private let localTime = LocalTime(TimeZone(identifier: "Europe/Berlin")!)
  private let end: Int64
  private var random: SeededGenerator
  private var now: Int64
  private var nextArrival: Int64
  private var queue: [(due: Int64, job: Job)] = []
  private var states: [Int: [UInt8]] = [:]
  private var lastActivity: [Int: Int64] = [:]
  private var jobCount = 0

  private(set) var sent: [BuiltInPolicyInvariants.Sent] = []
  private(set) var suppressed: [SuppressionReason: Int] = [:]
  /// Jobs suppressed outside quiet hours although nothing had been sent for a day.
  private(set) var lost: [Int] = []
  private(set) var deferred = 0
  private(set) var crashes = 0
  private(set) var retries = 0

  init(seed: UInt64, start: Int64) {
    random = SeededGenerator(seed: seed)
    now = start
    nextArrival = start
    end = start + PolicySimulation.week
  }

  var unfinished: Int { queue.count }

  /// Runs the next event. Returns false when the week is over and all jobs have ended.
  mutating func step() -> Bool {
    let due = queue.indices.min { queue[$0].due < queue[$1].due }
    if nextArrival < end, due.map({ nextArrival <= queue[$0].due }) ?? true {
      now = nextArrival
      arrive()
      return true
    }
    guard let due else { return false }
    let entry = queue.remove(at: due)
    now = max(now, entry.due)
    run(entry.job)
    return true
  }

  /// Adds a job; pauses vary from bursts to hours.
  private mutating func arrive() {
    jobCount += 1
    let expiration = random.below(5) == 0 ? now + Int64(random.below(12 * 3_600_000)) + 1000 : nil
    let job = Job(
      number: jobCount, instance: random.below(PolicySimulation.instances),
      className: PolicySimulation.classes[random.below(4)], expiration: expiration, misfortunes: random.below(4))
    queue.append((now, job))
    let pause = [500, 20_000, 300_000, 3_600_000][[0, 0, 1, 1, 1, 2, 2, 3][random.below(8)]]
    nextArrival = now + 1 + Int64(random.below(pause))
  }

  /// Runs one attempt of a worker, which may crash at any point.
  private mutating func run(_ job: Job) {
    if let expiration = job.expiration, expiration <= now { return }
    let before = PolicyState(json: states[job.instance] ?? [])
    let notificationClass = policy.classes.first { $0.name == job.className }!
    let request = PolicyRequest(job: "\(job.number)", notificationClass: notificationClass, expiration: job.expiration)
    let (decision, state) = policy.decide(before, request, now: now, localTime: localTime)
    let fate = job.misfortunes > 0 ? random.below(8) : 7
    if fate == 0 { return crash(job) }
    states[job.instance] = state.json()
    if fate == 1 { return crash(job) }
    switch decision {
    case .suppress(let reason):
      suppressed[reason, default: 0] += 1
      let isQuiet = now - (lastActivity[job.instance] ?? now) > 86_400_000
      if isQuiet, reason != .quietHours, reason != .collapsed { lost.append(job.number) }
    case .deferUntil(let time):
      deferred += 1
      queue.append((time, job))
    case .send:
      lastActivity[job.instance] = now
      if fate == 2 { return retry(job) }
      sent.append(.init(instance: job.instance, job: job.number, className: job.className, at: now))
      // The push was sent, but the worker dies before it records that.
      if fate == 3 { crash(job) }
    }
  }

  /// The job runs again after recovery, sometimes hours later.
  private mutating func crash(_ job: Job) {
    crashes += 1
    var job = job
    job.misfortunes -= 1
    let pause = random.below(10) == 0 ? 6 * 3_600_000 : 20_000
    queue.append((now + Int64(random.below(pause)), job))
  }

  /// The gateway refused the push temporarily.
  private mutating func retry(_ job: Job) {
    retries += 1
    var job = job
    job.misfortunes -= 1
    queue.append((now + policy.retrySeconds * 1000 + Int64(random.below(900_000)), job))
  }
}
