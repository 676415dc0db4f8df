import FleetSupport
import Foundation
import Jobs
import Synchronization
import Testing
import TestSupport

/// Another user of the same process during an attack, who reads notifications over one connection, sometimes registers,
/// and enqueues jobs to the same queue.
final class Victim: Sendable {
  /// Seconds.
  private static let requestPause = 0.01
  private static let jobPause = Duration.milliseconds(20)
  /// One request of this many is a registration, because registrations are limited.
  private static let requestsPerRegistration = 100
  /// Requests and jobs before and after an attack.
  private static let least = 20

  private let fleet: Fleet
  private let sidecar: SidecarProcess
  private let queue: String
  let user: String
  let token: String
  private let isStopping = Atomic<Bool>(false)
  /// What was answered and what was enqueued until now.
  private let requestCount = Atomic<Int>(0)
  private let jobCount = Atomic<Int>(0)

  /// `queue` is served by `sidecar`, which is `martlet all`.
  init(_ fleet: Fleet, _ sidecar: SidecarProcess, queue: String) async throws {
    self.fleet = fleet
    self.sidecar = sidecar
    self.queue = queue
    user = try await fleet.userWithCredentials("victim")
    token = fleet.uniqueToken()
    #expect(try await sidecar.push("register", as: user, #"{"token":"\#(token)"}"#).status == 200)
  }

  /// Sends requests and jobs while `attack` runs, and returns the results when every job has ended.
  func served(_ name: String, while attack: () async throws -> Void) async throws -> VictimAccount {
    isStopping.store(false, ordering: .relaxed)
    async let requests = blocking { try self.ask() }
    async let jobs = enqueue()
    do {
      // However short the attack is.
      try await awaitMore()
      try await attack()
      try await awaitMore()
    } catch {
      isStopping.store(true, ordering: .relaxed)
      _ = try? await (requests, jobs)
      throw error
    }
    isStopping.store(true, ordering: .relaxed)
    var account = VictimAccount(name: name)
    (account.statuses, account.requestSeconds) = try await requests
    for (id, enqueuedAt) in try await jobs {
      let record = try await fleet.record(id)
      account.recordStatuses[record.status, default: 0] += 1
      account.jobSeconds.append(Double(record.finishedAt - enqueuedAt) / 1000)
    }
    print(account.description)
    return account
  }

  /// Waits for a number of further requests and jobs.
  private func awaitMore() async throws {
    let requests = requestCount.load(ordering: .relaxed) + Victim.least
    let jobs = jobCount.load(ordering: .relaxed) + Victim.least
    try await eventually("more requests and jobs of the victim") {
      requestCount.load(ordering: .relaxed) >= requests && jobCount.load(ordering: .relaxed) >= jobs
    }
  }

  private func ask() throws -> ([Int: Int], [Double]) {
    var statuses: [Int: Int] = [:]
    var seconds: [Double] = []
    let wire = try Wire(port: sidecar.port)
    var count = 0
    while !isStopping.load(ordering: .relaxed) {
      count += 1
      let start = ContinuousClock.now
      wire.send(request(isRegistration: count.isMultiple(of: Victim.requestsPerRegistration)))
      // The responses are flat objects.
      let head = try wire.read(until: "}")
      let took = start.duration(to: .now)
      seconds.append(Double(took.components.seconds) + Double(took.components.attoseconds) / 1e18)
      requestCount.add(1, ordering: .relaxed)
      statuses[Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0, default: 0] += 1
      Thread.sleep(forTimeInterval: Victim.requestPause)
    }
    return (statuses, seconds)
  }

  private func request(isRegistration: Bool) -> String {
    let fields = """
      Host: localhost\r
      Authorization: Bearer \(SidecarProcess.secret(of: user))\r
      X-Username: \(user)\r

      """
    guard isRegistration else { return "GET /notifications?limit=1 HTTP/1.1\r\n\(fields)\r\n" }
    let body = #"{"token":"\#(token)"}"#
    return "POST /api/push/register HTTP/1.1\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  private func enqueue() async throws -> [(id: String, enqueuedAt: Int64)] {
    var jobs: [(id: String, enqueuedAt: Int64)] = []
    while !isStopping.load(ordering: .relaxed) {
      let id = fleet.unique("victim-job")
      let now = Int64(Date().timeIntervalSince1970 * 1000)
      try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"\#(user)"},"title":"Hello"}"#, on: queue)
      jobs.append((id, now))
      jobCount.add(1, ordering: .relaxed)
      try await Task.sleep(for: Victim.jobPause)
    }
    return jobs
  }
}

/// The results of the victim.
struct VictimAccount: CustomStringConvertible {
  let name: String
  /// The number of responses by status.
  var statuses: [Int: Int] = [:]
  /// The time of each request, from sending to the complete response.
  var requestSeconds: [Double] = []
  var recordStatuses: [String: Int] = [:]
  /// The time of each job, from enqueueing to its record.
  var jobSeconds: [Double] = []

  init(name: String) {
    self.name = name
  }

  /// Whether every response was 200 and every job was accepted.
  func expectServed(sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(Set(statuses.keys) == [200], "\(self)", sourceLocation: sourceLocation)
    #expect(Set(recordStatuses.keys) == ["accepted"], "\(self)", sourceLocation: sourceLocation)
  }

  var description: String {
    "victim of \(name): \(requestSeconds.count) requests \(statuses), \(VictimAccount.figures(requestSeconds)); "
      + "\(jobSeconds.count) jobs \(recordStatuses), \(VictimAccount.figures(jobSeconds))"
  }

  private static func figures(_ seconds: [Double]) -> String {
    let sorted = seconds.sorted()
    guard let longest = sorted.last else { return "none" }
    let p99 = sorted[min(sorted.count - 1, sorted.count * 99 / 100)]
    return String(format: "p99 %.1f ms, longest %.1f ms", p99 * 1000, longest * 1000)
  }
}
