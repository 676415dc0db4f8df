import Jobs
import Testing

@testable import Operations
@testable import Queue

/// What a worker counts between two writes, and how it is read again.
struct CounterTests {
  /// Returns what `count` has counted, as it would be read from Redis.
  private func bucket(queues: [String] = ["push:jobs"], _ count: (inout CounterSlots) -> Void) -> CounterBucket {
    var slots = CounterSlots(queues: queues)
    count(&slots)
    var batch = CounterBatch()
    slots.move(to: &batch)
    return read(batch)
  }

  private func read(_ batch: CounterBatch) -> CounterBucket {
    var bucket = CounterBucket(start: 0, seconds: 60)
    for (field, addition) in batch.additions { bucket.read(field, "\(addition.amount)") }
    return bucket
  }

  @Test func `everything that is counted is read again`() {
    let bucket = bucket(queues: ["push:jobs:high", "push:jobs"]) {
      $0.claimed(2, queueIndex: 0)
      $0.claimed(3, queueIndex: 1)
      for status in JobStatus.allCases { $0.ended(status, latency: status == .dead ? 40 : nil) }
      $0.ended(.accepted, latency: 40_000_000)
      for push in CountedPush.allCases { $0.pushed(push, app: "com.example.app") }
      $0.pushed(.accepted, app: "com.example.other")
      $0.refused(because: "BadDeviceToken")
      $0.refused(because: "BadDeviceToken")
    }
    #expect(bucket.claims == ["push:jobs:high": 2, "push:jobs": 3])
    #expect(bucket.jobs.count == JobStatus.allCases.count)
    #expect(bucket.jobs[.accepted] == 2)
    #expect(bucket.jobs[.noDevices] == 1)
    let attempts = bucket.jobs.values.reduce(0, +)
    #expect(attempts == JobStatus.allCases.count + 1)
    #expect(bucket.endedJobs == attempts - bucket.retries - (bucket.jobs[.deferred] ?? 0))
    #expect((bucket.accepted, bucket.failed, bucket.stale, bucket.uncertain) == (2, 2, 1, 1))
    #expect(bucket.pushes[.open] == 1)
    #expect(bucket.apps["com.example.app"] == .init(accepted: 1, failed: 2))
    #expect(bucket.apps["com.example.other"] == .init(accepted: 1, failed: 0))
    #expect(bucket.refusals == ["BadDeviceToken": 2])
    #expect(bucket.latency.count == 2)
    #expect(bucket.latency.sum == 40_000_040)
  }

  @Test func `what was moved is not counted again`() {
    var slots = CounterSlots(queues: ["push:jobs"])
    slots.claimed(1, queueIndex: 0)
    slots.ended(.dead, latency: 5)
    slots.pushed(.stale, app: "com.example.app")
    slots.refused(because: "Unregistered")
    var batch = CounterBatch()
    slots.move(to: &batch)
    #expect(!batch.isEmpty)
    var next = CounterBatch()
    slots.move(to: &next)
    #expect(next.isEmpty)
  }

  @Test func `a batch that was not written is added to the next`() {
    var slots = CounterSlots(queues: [])
    var batch = CounterBatch()
    for _ in 1...3 {
      slots.ended(.accepted)
      slots.pushed(.accepted, app: "com.example.app")
      var next = CounterBatch()
      slots.move(to: &next)
      batch.merge(next)
    }
    #expect(read(batch).jobs == [.accepted: 3])
    #expect(read(batch).apps["com.example.app"]?.accepted == 3)
  }

  @Test func `apps and reasons beyond the limit are counted together`() {
    let bucket = bucket {
      for number in 0..<1000 {
        $0.pushed(.accepted, app: "com.example.app\(number)")
        $0.pushed(.failed, app: "com.example.app\(number)")
        $0.refused(because: "Reason\(number)")
      }
    }
    #expect(bucket.apps.count == CounterLimits.maximumApps + 1)
    #expect(bucket.apps["other"] == .init(accepted: 900, failed: 900))
    #expect(bucket.refusals.count == CounterLimits.maximumReasons + 1)
    #expect(bucket.refusals["other"] == 1000 - CounterLimits.maximumReasons)
    #expect(bucket.refusals.values.reduce(0, +) == 1000)
  }

  @Test func `names of another interval have room again`() {
    var slots = CounterSlots(queues: [])
    var batch = CounterBatch()
    for number in 0..<200 { slots.refused(because: "Early\(number)") }
    slots.move(to: &batch)
    slots.refused(because: "Late")
    var next = CounterBatch()
    slots.move(to: &next)
    #expect(read(next).refusals == ["Late": 1])
  }

  @Test func `batches that could not be written stay bounded`() {
    var batch = CounterBatch()
    for round in 0..<50 {
      var slots = CounterSlots(queues: [])
      for number in 0..<100 { slots.pushed(.accepted, app: "app\(round).\(number)") }
      var next = CounterBatch()
      slots.move(to: &next)
      batch.merge(next)
    }
    #expect(batch.additions.count <= CounterLimits.maximumFields + 1)
    #expect(read(batch).accepted == 5000)
    #expect(read(batch).apps.values.reduce(0) { $0 + $1.accepted } == 5000)
  }

  @Test(arguments: [
    "", "a b", "a\u{0}b", "line\nline", "\u{1B}[31m", "é", String(repeating: "x", count: 200), "other",
  ])
  func `a name that cannot be shown is counted as other`(name: String) {
    let bucket = bucket {
      $0.pushed(.accepted, app: name)
      $0.refused(because: name)
    }
    #expect(bucket.apps == ["other": .init(accepted: 1, failed: 0)])
    #expect(bucket.refusals == ["other": 1])
  }

  @Test(arguments: [
    ("jobs:unknown", "1"), ("jobs:accepted", "-1"), ("jobs:accepted", "x"), ("pushes:", "1"), ("latency:3", "1"),
    ("nonsense", "1"), ("", "1"), ("jobs:accepted", "99999999999999999999"),
  ])
  func `a field that is not one of the counters is ignored`(field: String, amount: String) {
    var bucket = CounterBucket(start: 0, seconds: 60)
    bucket.read(field, amount)
    #expect(bucket.isEmpty)
  }

  @Test func `buckets add up`() {
    let (first, second) = (
      bucket {
        $0.ended(.accepted, latency: 1)
      },
      bucket {
        $0.ended(.accepted, latency: 1000)
        $0.ended(.retrying)
        $0.pushed(.accepted, app: "a")
      }
    )
    let sum = CounterBucket.sum([first, second])
    #expect(sum.seconds == 120)
    #expect(sum.jobs == [.accepted: 2, .retrying: 1])
    #expect(sum.retries == 1)
    #expect(sum.latency.sum == 1001)
    #expect(sum.perSecond(sum.endedJobs) == 2.0 / 120)
    #expect(CounterBucket.sum([]).isEmpty)
  }

  @Test func `a quantile lies in the bucket of its job`() throws {
    var latency = LatencyCounts()
    #expect(latency.quantile(0.5) == nil)
    for _ in 1...98 { latency.record(milliseconds: 4) }
    latency.record(milliseconds: 700)
    latency.record(milliseconds: 90_000_000)
    let median = try #require(latency.quantile(0.5))
    #expect((2...5).contains(median))
    let high = try #require(latency.quantile(0.99))
    #expect((500...1000).contains(high))
    #expect(latency.quantile(1) == Double(LatencyCounts.bounds.last ?? 0))
    #expect(latency.count == 100)
  }
}
