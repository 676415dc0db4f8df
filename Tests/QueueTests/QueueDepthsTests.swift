import EventLoop
import Testing
@testable import Queue

@EventLoop
struct QueueDepthsTests {
  private func report(jobsPerSecond: Double, concurrency: Int) -> WorkerReport {
    WorkerReport(
      startedAt: 0, jobs: 0, jobsPerSecond: jobsPerSecond, outstanding: 0, inFlight: 0, concurrency: concurrency)
  }

  @Test func `an idle worker counts with its permits, a busy one with its rate`() {
    #expect(DrainTime.rate(report(jobsPerSecond: 0, concurrency: 512)) == 512)
    #expect(DrainTime.rate(report(jobsPerSecond: 20_000, concurrency: 512)) == 20_000)
  }

  @Test func `the fleet needs its jobs divided by its rate`() {
    #expect(DrainTime.seconds(jobs: 30_000, rates: [10_000, 20_000]) == 1)
    #expect(DrainTime.seconds(jobs: 1, rates: [512]) == 1.0 / 512)
  }

  @Test func `the figure is finite without jobs and without live workers`() {
    #expect(DrainTime.seconds(jobs: 0, rates: []) == 0)
    #expect(DrainTime.seconds(jobs: 1, rates: []) == 3600)
    #expect(DrainTime.seconds(jobs: .max, rates: [1]) == 3600)
  }

  @Test func `a job is as old as the time since it began to wait, or new if the producer's clock is ahead`() {
    #expect(OldestJob.age(since: 1_000, now: 3_500) == 2.5)
    #expect(OldestJob.age(since: 9_000, now: 3_500) == 0)
  }

  @Test func `Redis' clock is compared with the middle of the exchange`() {
    #expect(RedisClock.offset(sentAt: 10_000, receivedAt: 10_200, redis: 10.1) == 0)
    #expect(RedisClock.offset(sentAt: 10_000, receivedAt: 10_200, redis: 7.1) == 3)
    #expect(RedisClock.offset(sentAt: 10_000, receivedAt: 10_200, redis: 12.1) == -2)
  }
}
