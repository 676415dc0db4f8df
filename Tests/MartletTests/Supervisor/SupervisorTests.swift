import Foundation
import JSON
import Redis
import TestSupport
import Testing
@testable import Queue

/// `martlet worker --processes`.
@Suite(.serialized) struct SupervisorTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet
  private let queue: String

  init() async throws {
    fleet = try await Self.shared.value
    queue = fleet.unique("processes")
    try await fleet.gateway.reset()
  }

  // MARK: - Ends of processes

  @Test func `a killed process is started again, and no job is lost`() async throws {
    try await fleet.gateway.settings(#"{"rttMs":50}"#)
    let supervisor = try await fleet.supervisor(2, ["MARTLET_LOG": "debug"], on: queue)
    let load = Load(fleet, on: queue, perSecond: 300)
    await load.start()
    for round in 1...3 {
      let goal = await load.enqueued + 100
      try await eventually(within: .seconds(60), "the load continues") { await load.enqueued >= goal }
      kill(try supervisor.pid(1 + round % 2), SIGKILL)
      try await eventually(within: .seconds(30), "a new process") {
        supervisor.started.values.reduce(0) { $0 + $1.count } == 2 + round
      }
    }
    let account = await load.stop()
    let status = try await fleet.status(of: account.enqueued, on: queue)
    status.expectAllAccepted(account.enqueued.count)
    try await supervisor.allReady(2)
    #expect(try await supervisor.metric("martlet_worker_process_restarts_total") == 3)
    #expect(supervisor.count(of: "worker process was killed") == 3)
    #expect(try await supervisor.stop() == 0)
    let broken = supervisor.process.lines.filter { (try? JSONValue(parsing: Array($0.utf8))) == nil }
    #expect(broken == [], "all write to one stderr, line by line")
  }

  @Test func `a process that an operator ends is started again`() async throws {
    let supervisor = try await fleet.supervisor(2, on: queue)
    kill(try supervisor.pid(2), SIGTERM)
    try await eventually(within: .seconds(30), "a new process") { supervisor.started[2]?.count == 2 }
    #expect(supervisor.count(of: "\"worker process ended\"") == 1)
    #expect(supervisor.started[1]?.count == 1)
    #expect(try await supervisor.stop() == 0)
  }

  @Test func `when the supervisor is killed its processes hand their jobs back and end`() async throws {
    try await fleet.gateway.fault(#"{"kind":"stall"}"#)
    let supervisor = try await fleet.supervisor(3, ["MARTLET_SHUTDOWN_GRACE": "1s"], on: queue)
    let jobs = LoadJob.list(queue, 60)
    try await fleet.enqueue(jobs.map(\.json), on: queue)
    try await eventually("all jobs are in flight") { try await fleet.redis("LLEN", queue).integer == 0 }
    #expect(supervisor.running.count == 3)
    supervisor.process.signal(SIGKILL)
    // The processes hold its stderr.
    #expect(try await supervisor.process.exit(within: .seconds(40)) == 128 + SIGKILL)
    #expect(supervisor.running == [])
    #expect(supervisor.count(of: "the supervisor has ended: stopping") == 3)
    #expect(try await fleet.leftovers(queue).filter { $0.contains("inflight") } == [])
    try await fleet.gateway.clearFaults()
    let heir = try await fleet.worker(on: queue)
    try await fleet.status(of: jobs, on: queue).expectAllAccepted(60)
    #expect(try await heir.stop() == 0)
  }

  // MARK: - Signals

  @Test func `SIGTERM lets all processes finish, also if it reaches each of them`() async throws {
    try await fleet.gateway.settings(#"{"rttMs":1500}"#)
    let supervisor = try await fleet.supervisor(2, ["MARTLET_SHUTDOWN_GRACE": "30s"], on: queue)
    let jobs = LoadJob.list(queue, 100)
    try await fleet.enqueue(jobs.map(\.json), on: queue)
    try await eventually("all jobs are in flight") { try await fleet.redis("LLEN", queue).integer == 0 }
    // As systemd does.
    for pid in supervisor.running { kill(pid, SIGTERM) }
    #expect(try await supervisor.stop() == 0)
    #expect(supervisor.running == [])
    #expect(supervisor.lines("handedBack").allSatisfy { $0.contains("\"handedBack\":0") })
    let status = try await fleet.status(of: jobs, on: queue)
    status.expectAllAccepted(100)
    #expect(status.duplicates == 0)
  }

  @Test func `a second SIGTERM hands all jobs back at once`() async throws {
    try await fleet.gateway.fault(#"{"kind":"stall"}"#)
    let supervisor = try await fleet.supervisor(2, ["MARTLET_SHUTDOWN_GRACE": "10m"], on: queue)
    let jobs = LoadJob.list(queue, 50)
    try await fleet.enqueue(jobs.map(\.json), on: queue)
    try await eventually("all jobs are in flight") { try await fleet.redis("LLEN", queue).integer == 0 }
    supervisor.process.signal(SIGTERM)
    try await eventually("they stop") { supervisor.count(of: "stopping: no more claims") == 2 }
    #expect(try await supervisor.stop() == 0)
    #expect(try await fleet.leftovers(queue).filter { $0.contains("inflight") } == [])
    #expect(try await fleet.leftovers(queue) != [])
  }

  @Test func `SIGHUP reaches every process and ends none`() async throws {
    let supervisor = try await fleet.supervisor(3, on: queue)
    supervisor.process.signal(SIGHUP)
    try await eventually("all have it") { supervisor.count(of: "SIGHUP: nothing to read again") == 3 }
    try await supervisor.allReady(3)
    #expect(try await supervisor.stop() == 0)
  }

  @Test func `a SIGTERM right after the start ends all in order`() async throws {
    for _ in 0..<5 {
      let child = try ChildProcess(
        try builtProduct("martlet"), ["worker", "--processes=3"],
        environment: fleet.environment(["MARTLET_QUEUES": queue]))
      try await child.line("a process") { $0.contains("worker process started") }
      #expect(try await child.stop() == 0, "\(child.lines)")
    }
  }

  // MARK: - Configuration

  @Test func `faults of settings are reported once, and nothing is started`() async throws {
    let child = try await fleet.martlet(
      "worker", "--processes", "4", environment: ["REDIS_URL": "http://redis", "MARTLET_CONCURRENCY": "none"])
    #expect(child.exitCode == 2)
    #expect(child.lines.count { $0.contains("REDIS_URL") } == 1)
    #expect(child.lines.count { $0.contains("MARTLET_CONCURRENCY") } == 1)
    #expect(!child.lines.contains { $0.contains("process started") })
  }

  @Test(arguments: ["0", "65", "two", "-1", "", "1.5"])
  func `an invalid number of processes is refused`(number: String) async throws {
    let child = try await fleet.martlet("worker", "--processes=\(number)")
    #expect(child.exitCode == 2)
    #expect(child.lines.first == "martlet worker: --processes takes a whole number from 1 to 64, or auto")
  }

  @Test func `one process has no supervisor`() async throws {
    let worker = try await fleet.worker(on: queue, arguments: ["--processes", "1"])
    #expect(worker.count(of: "supervisor starts") == 0)
    #expect(try await worker.metric("martlet_worker_processes{state=\"running\"}") == nil)
    #expect(try await worker.stop() == 0)
  }

  @Test func `a file that became invalid stops all with 2 when a process needs it`() async throws {
    let directory = try TemporaryDirectory()
    let path = "\(directory.path)/policy.json"
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
    try FileManager.default.copyItem(atPath: root.appending(path: "deploy/examples/policy.json").path, toPath: path)
    let supervisor = try await fleet.supervisor(2, ["MARTLET_POLICY_FILE": path], on: queue)
    try "nonsense".write(toFile: path, atomically: true, encoding: .utf8)
    kill(try supervisor.pid(1), SIGKILL)
    #expect(try await supervisor.process.exit(within: .seconds(40)) == 2)
    #expect(supervisor.process.lines.contains { $0.contains("MARTLET_POLICY_FILE") })
    #expect(supervisor.running == [])
  }

  @Test func `an admin address in use ends the start before any process`() async throws {
    let supervisor = try await fleet.supervisor(2, on: queue)
    let second = try await fleet.martlet(
      "worker", "--processes", "2", environment: ["MARTLET_ADMIN_ADDRESS": "127.0.0.1:\(supervisor.adminPort)"])
    #expect(second.exitCode == 1)
    #expect(second.lines.contains { $0.contains("MARTLET_ADMIN_ADDRESS") && $0.contains("Address already in use") })
    #expect(!second.lines.contains { $0.contains("process started") })
    #expect(try await supervisor.stop() == 0)
  }
}

extension FleetWorker {
  func lines(_ part: String) -> [String] { process.lines.filter { $0.contains(part) } }
}
