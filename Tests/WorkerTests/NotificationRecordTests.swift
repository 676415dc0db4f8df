import EventLoop
import Jobs
import Redis
import Testing

@testable import Queue
@testable import Worker

/// Which notifications are kept for clients that poll.
@EventLoop
struct NotificationRecordTests {
  private static let toInstance = #"{"id":"j","to":{"instance":"home"},"class":"attention_ping"}"#
  private static let toUser = #"{"id":"j","to":{"user":"alice"},"title":"T"}"#

  private func records(_ policy: WorkerConfiguration.NotificationPolicy) throws -> NotificationRecords {
    var configuration = WorkerConfiguration(redis: try RedisEndpoint(url: "redis://127.0.0.1"))
    configuration.notifications = policy
    return NotificationRecords(configuration)
  }

  /// The status in each record of an attempt.
  private func statuses(
    _ policy: WorkerConfiguration.NotificationPolicy, _ job: String, _ status: JobStatus, holds: Int = 0
  ) throws -> [String] {
    var state = AttemptState()
    for time in 0..<holds { state.history.append(Int64(time), .deferred(until: Int64(time) + 1)) }
    let delivery = try Delivery.testing(job, state: state)
    return try records(policy).records(of: delivery, status, at: 1).compactMap { record in
      let text = String(decoding: record.json, as: UTF8.self)
      return text.firstMatch(of: /"status":"([a-z_]+)"/).map { String($0.output.1) }
    }
  }

  @Test(arguments: [JobStatus.accepted, .suppressed, .failed, .unsent, .expired, .noDevices, .dead])
  func `every end of a job to an instance is kept, unless none is`(status: JobStatus) throws {
    #expect(try statuses(.unsent, Self.toInstance, status) == [status.rawValue])
    #expect(try statuses(.all, Self.toInstance, status) == [status.rawValue])
    #expect(try statuses(.off, Self.toInstance, status) == [])
  }

  @Test func `a job to a user is kept if no push could carry it`() throws {
    #expect(try statuses(.unsent, Self.toUser, .accepted) == [])
    #expect(try statuses(.unsent, Self.toUser, .suppressed) == [])
    #expect(try statuses(.unsent, Self.toUser, .unsent) == ["unsent"])
    #expect(try statuses(.all, Self.toUser, .accepted) == ["accepted"])
  }

  @Test func `a held job is kept once, from the time when it is held on`() throws {
    #expect(try statuses(.unsent, Self.toInstance, .deferred, holds: 1) == ["deferred"])
    #expect(try statuses(.unsent, Self.toInstance, .deferred, holds: 2) == [])
    #expect(try statuses(.unsent, Self.toInstance, .accepted, holds: 2) == [])
    #expect(try statuses(.unsent, Self.toInstance, .retrying) == [])
    // What is kept only for a user who was not reached is not kept before that is known.
    #expect(try statuses(.unsent, Self.toUser, .deferred, holds: 1) == [])
    #expect(try statuses(.unsent, Self.toUser, .failed, holds: 1) == ["failed"])
  }

  @Test func `neither a duplicate nor a cancelled job is kept`() throws {
    for status in [JobStatus.duplicate, .cancelled] { #expect(try statuses(.all, Self.toInstance, status) == []) }
  }
}
