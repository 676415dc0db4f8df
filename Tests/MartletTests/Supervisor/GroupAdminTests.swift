import Foundation
import TestSupport
import Testing
@testable import Martlet

/// The admin port of a supervisor.
@Suite(.serialized) struct GroupAdminTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet
  private let queue: String

  init() async throws {
    fleet = try await Self.shared.value
    queue = fleet.unique("group")
    try await fleet.gateway.reset()
  }

  private func run(_ count: Int, _ name: String) async throws {
    let jobs = LoadJob.list("\(name)-\(queue)", count)
    try await fleet.enqueue(jobs.map(\.json), on: queue)
    for job in jobs { #expect(try await fleet.record(job.id).status == "accepted") }
  }

  @Test func `the metrics are those of one worker, summed`() async throws {
    let supervisor = try await fleet.supervisor(3, on: queue)
    try await run(300, "sum")
    try await eventually("all jobs are counted") {
      try await supervisor.metric(#"martlet_jobs_total{status="accepted"}"#) == 300
    }
    #expect(try await supervisor.metric("martlet_job_seconds_count") == 300)
    #expect(try await supervisor.metric("martlet_job_seconds_bucket{le=\"+Inf\"}") == 300)
    #expect(try await supervisor.metric("martlet_concurrency_limit") == 3 * 64)
    #expect(try await supervisor.metric("martlet_redis_connected") == 1)
    #expect(try await supervisor.metric("martlet_apns_open_connections{environment=\"production\"}") == 3)
    #expect(try await supervisor.metric("martlet_worker_processes{state=\"running\"}") == 3)
    #expect(try await supervisor.metric("martlet_worker_processes{state=\"silent\"}") == 0)
    #expect(try await supervisor.metric("martlet_worker_processes{state=\"waiting\"}") == 0)
    let page = try await supervisor.get("/metrics").body
    #expect(page.split(separator: "\n").count { $0.hasPrefix("martlet_build_info{") && $0.hasSuffix(" 1") } == 1)
    let promtool = try ChildProcess("promtool", ["check", "metrics"], input: page + "\n")
    #expect(try await promtool.exit() == 0)
    #expect(promtool.lines == [])
    #expect(try await supervisor.stop() == 0)
  }

  @Test func `the families are those of one worker, each gauge with a rule, and the supervisor's own`() async throws {
    let supervisor = try await fleet.supervisor(2, on: queue)
    try await run(2, "families")
    let merged = MetricFamilies(text: try await supervisor.get("/metrics").body)
    var documented = try MetricFamilies.documented(process: "worker").types
    for (name, type) in documented where type == "gauge" {
      #expect(GroupMetrics.rules[name] != nil, "\(name) needs a rule in GroupMetrics.rules")
    }
    #expect(Set(GroupMetrics.rules.keys).subtracting(documented.keys) == [])
    documented.merge(try MetricFamilies.documented(process: "supervisor").types) { first, _ in first }
    #expect(documented.count > 40)
    #expect(merged.types == documented)
    #expect(try await supervisor.stop() == 0)
  }

  @Test func `counters do not fall when a process is killed`() async throws {
    let supervisor = try await fleet.supervisor(2, on: queue)
    try await run(100, "kept")
    let accepted = #"martlet_jobs_total{status="accepted"}"#
    try await eventually("all jobs are counted") { try await supervisor.metric(accepted) == 100 }
    let seconds = try #require(try await supervisor.metric("process_cpu_seconds_total"))
    for place in 1...2 {
      kill(try supervisor.pid(place), SIGKILL)
      try await eventually("its end") { supervisor.count(of: "worker process was killed") == place }
      #expect(try await supervisor.metric(accepted) == 100)
    }
    #expect(try #require(try await supervisor.metric("process_cpu_seconds_total")) >= seconds)
    try await supervisor.allReady(2)
    #expect(try await supervisor.metric(accepted) == 100)
    try await run(10, "more")
    try await eventually("the others are counted") { try await supervisor.metric(accepted) == 110 }
    #expect(try await supervisor.stop() == 0)
  }

  @Test func `a process that hangs is reported and holds up nothing`() async throws {
    let supervisor = try await fleet.supervisor(2, on: queue)
    try await run(20, "before")
    let accepted = #"martlet_jobs_total{status="accepted"}"#
    try await eventually("all jobs are counted") { try await supervisor.metric(accepted) == 20 }
    let hung = try supervisor.pid(2)
    kill(hung, SIGSTOP)
    // More questions than a socket has room for.
    for _ in 0..<7 { #expect(try await supervisor.metric("martlet_worker_processes{state=\"silent\"}") == 1) }
    #expect(try await supervisor.metric(accepted) == 20)
    #expect(try await supervisor.metric("martlet_concurrency_limit") == 64)
    let (status, body) = try await supervisor.get("/readyz")
    #expect(status == 200)
    #expect(body.contains(#""processes":{"running":2,"ready":1,"notReady":[{"process":2,"state":"does not answer"}]}"#))
    #expect(try await supervisor.get("/healthz").status == 200)
    kill(hung, SIGCONT)
    try await supervisor.allReady(2)
    try await eventually("it answers") {
      try await supervisor.metric("martlet_worker_processes{state=\"running\"}") == 2
    }
    #expect(try await supervisor.metric(accepted) == 20)
    #expect(try await supervisor.stop() == 0)
  }

  @Test func `a supervisor without a ready process is not ready`() async throws {
    let fleet = try await Fleet()
    let supervisor = try await fleet.supervisor(2)
    try await fleet.redis.kill()
    try await eventually(within: .seconds(30), "not ready") { try await supervisor.get("/readyz").status == 503 }
    let body = try await supervisor.get("/readyz").body
    #expect(body.contains(#""ready":false,"redis":"unreachable""#))
    #expect(body.contains(#"{"process":1,"state":"redis unreachable"},{"process":2,"state":"redis unreachable"}"#))
    #expect(try await supervisor.get("/nothing").status == 404)
    try await fleet.redis.restart()
    try await supervisor.allReady(2)
    #expect(try await supervisor.stop() == 0)
  }
}
