import Foundation
import Operations

@testable import Jobs
@testable import Policies

/// One instance under a policy, to which jobs are sent one after the other. Times are written as local times.
struct Scene {
  var policy: DeliveryPolicy
  let zone: TimeZone
  var state = PolicyState()

  /// By default the built-in policy with the standard quiet hours, in Berlin.
  init(_ policy: DeliveryPolicy = PolicyBook.standard.policies[0], zone: String = "Europe/Berlin") {
    self.policy = policy
    self.zone = TimeZone(identifier: zone)!
  }

  var localTime: LocalTime { LocalTime(zone) }

  /// Returns the unix ms of `2026-11-21 12:00:00`, the first one in an hour that occurs twice.
  func time(_ wall: String) -> Int64 {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = zone
    formatter.dateFormat = "yyyy-MM-dd HH:mm:ss"
    guard let date = formatter.date(from: wall) else { preconditionFailure("malformed time: \(wall)") }
    return Int64(date.timeIntervalSince1970 * 1000)
  }

  /// Decides about a job and keeps the new state.
  mutating func decide(_ className: String, _ job: String, at now: Int64, expires: Int64? = nil) -> PolicyDecision {
    guard let notificationClass = policy.classes.first(where: { $0.name == className }) else {
      preconditionFailure("no class \(className)")
    }
    let request = PolicyRequest(job: job, notificationClass: notificationClass, expiration: expires)
    let (decision, next) = policy.decide(state, request, now: now, localTime: localTime)
    // The state as it is read back from Redis.
    state = PolicyState(json: next.json())
    return decision
  }

  mutating func decide(
    _ className: String, _ job: String, at wall: String, plus seconds: Double = 0, expires: String? = nil
  ) -> PolicyDecision {
    decide(className, job, at: time(wall) + Int64(seconds * 1000), expires: expires.map(time))
  }
}

extension LocalTime {
  /// The local time of a zone of Foundation.
  init(_ zone: TimeZone) {
    self.init { Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double($0)))) }
  }
}

extension PolicyBook {
  func match(_ job: Job) throws(JobError) -> PolicyMatch? { try job.terms(in: self) as? PolicyMatch }
}
