import Foundation
import Jobs
import Redis
package import Registry
import TestSupport
@testable import Queue
@testable import PushModel

/// Instances, their devices and the states of their policies.
extension Fleet {
  /// Registers a device of an instance and returns its token.
  @discardableResult
  package func register(instance id: String, token: String? = nil, updatedAt: Int64 = 1_700_000_000_000) async throws
    -> String
  {
    let token = token ?? uniqueToken()
    let record = InstanceRecord(token: DeviceToken(token), environment: .production, updatedAt: updatedAt)
    try await redis("SET", RegistryKeys.instance(id), String(decoding: record.json(), as: UTF8.self))
    return token
  }

  package func instanceRecord(_ id: String) async throws -> InstanceRecord? {
    try await redis("GET", RegistryKeys.instance(id)).bytes.flatMap(InstanceRecord.init(parsing:))
  }

  /// Queues a job with a class and returns its id.
  @discardableResult
  package func enqueue(
    _ className: String, to instance: String, _ members: String = "", on queue: String
  ) async throws -> String {
    let id = unique("classed")
    try await enqueue(
      #"{"id":"\#(id)","to":{"instance":"\#(instance)"},"class":"\#(className)"\#(members)}"#, on: queue)
    return id
  }

  /// Queues a job with a class and waits for its final record.
  package func deliver(
    _ className: String, to instance: String, _ members: String = "", on queue: String
  ) async throws -> JobRecord {
    try await record(try await enqueue(className, to: instance, members, on: queue))
  }

  /// Quiet hours from two hours ago to two hours from now, in the local time of a zone without summer time.
  package func hoursAroundNow(in zone: String) throws -> (text: String, end: Int64) {
    let now = Date()
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: zone)
    formatter.dateFormat = "HH:mm"
    let ends = [-7200.0, 7200].map { formatter.string(from: now.addingTimeInterval($0)) }
    let end = Int64(now.timeIntervalSince1970 + 7200) / 60 * 60_000
    return (ends.joined(separator: "-"), end)
  }

  /// Makes the scheduled jobs of a queue due now.
  package func wakeScheduled(_ queue: String) async throws {
    let key = QueueKeys(queue: queue).scheduled
    for member in try await redis("ZRANGE", key, "0", "-1").array ?? [] {
      try await redis("ZADD", key, "XX", "0", member.string ?? "")
    }
  }
}
