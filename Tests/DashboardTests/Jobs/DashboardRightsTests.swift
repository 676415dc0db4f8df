import DashboardSupport
import EventLoop
import Redis
import Telemetry
import Testing
import TestSupport

@testable import Dashboard
@testable import Queue

/// What the user `martlet-dashboard` of deploy/redis may do is enough for the pages of jobs and their actions.
@EventLoop
struct DashboardRightsTests {
  @Test func `no page or action lacks a right`() async throws {
    let fixture = try await DashboardFixture(queues: ["push:jobs"])
    let entry = BroadcastEntry(
      id: "sale", queue: "push:jobs", app: "com.example.app", state: .running, startedAt: 1, changedAt: 1, worker: "w",
      nonce: "n")
    let keys = QueueKeys(queue: "push:jobs")
    let progress = "03:ab\n" + #"{"cursor":"03:ab"}"#
    for command in [
      RedisCommand("SET", keys.broadcast("sale")).with(entry.json()),
      RedisCommand("ZADD", keys.broadcasts, "1", "sale"), RedisCommand("SET", keys.progress("n"), progress),
    ] {
      _ = try await fixture.redis.send(command)
    }
    for path in [
      "/broadcasts/sale", "/queues", "/queues/push:jobs", "/dead", "/dead?reason=x&confirm=requeue", "/scheduled",
      "/broadcasts",
      "/search?q=x", "/jobs/x",
    ] {
      #expect(
        [200, 404].contains(try await WebAnswer.ask(port: fixture.dashboard.port, "GET", path).status), "\(path)")
    }
    for (path, form, status) in [
      ("/queues/push:jobs", "action=pause", 303), ("/queues/push:jobs", "action=resume", 303),
      ("/dead", "action=requeue-all&until=1", 303), ("/jobs/x", "action=cancel", 303),
      ("/jobs/x", "action=run-now", 409), ("/jobs/x", "action=requeue", 409), ("/broadcasts/x", "action=cancel", 404),
      ("/broadcasts/x", "action=pause", 404), ("/broadcasts/x", "action=resume", 404),
    ] {
      let answer = try await WebAnswer.ask(port: fixture.dashboard.port, "POST", path, body: form)
      #expect(answer.status == status, "\(path) \(form)")
    }
    await fixture.stop()
  }
}
