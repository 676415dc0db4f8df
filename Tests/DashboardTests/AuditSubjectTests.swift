import DashboardSupport
import EventLoop
import Redis
import Telemetry
import Testing
import TestSupport

@testable import Credentials
@testable import Dashboard

/// What the audit log says of forms that no page makes.
@EventLoop
struct AuditSubjectTests {
  @Test(arguments: [
    ("/queues", [("action", "pause"), ("queue", "no-queue")], "queue no-queue"),
    ("/queues", [("action", "pause")], "queue (not named)"),
    ("/broadcasts", [("action", "pause")], "broadcast (not named)"),
    ("/scheduled", [("action", "cancel")], "job (not named)"),
    ("/credentials", [("action", "revoke")], "credential (not named)"),
    ("/credentials", [("action", "revoke"), ("kind", "user")], "user (not named)"),
    ("/devices", [("action", "remove")], "device (not named)"),
    ("/devices", [("action", "remove"), ("device", "0123456789abcdef")], "device 01234567…"),
    ("/devices?user=alice", [("action", "remove"), ("device", "0123456789abcdef")], "device 01234567… of user alice"),
    ("/dead?age=never", [("action", "purge-all")], "dead letters of all queues: a filter that is not valid"),
  ])
  func `a form that names nothing, or nothing that exists, is noted with what it names`(
    path: String, form: [(String, String)], subject: String
  ) async throws {
    let fixture = try await DashboardFixture()
    try await fixture.add(.admin, "anna", secret: "secret-of-anna")
    let answer = try await fixture.post(path, [("form", "t1")] + form, as: "anna:secret-of-anna")
    let log = AuditLog(connection: fixture.redis, log: .silent)
    let found = try await log.read(before: nil, count: 10)
    #expect(found.map(\.subject) == [subject], "\(answer.status)")
    await fixture.stop()
  }
}
