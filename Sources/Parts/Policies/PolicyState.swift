import Jobs
import JSON

/// What a policy remembers about an instance: one JSON string in Redis.
struct PolicyState: Sendable, Equatable {
  /// A job that was allowed to be sent.
  struct Grant: Sendable, Equatable {
    /// The nonce of the job's envelope, which stays the same when the job is retried or runs again after a crash.
    var job: String
    var className: String
    /// The time of the latest attempt, unix ms.
    var at: Int64
  }

  /// The job that is held until quiet hours end.
  struct Held: Sendable, Equatable {
    var job: String
    /// Unix ms. After this time the job no longer suppresses others.
    var until: Int64
  }

  /// The grants that a rule still counts, oldest first.
  var grants: [Grant] = []
  var held: Held?

  init() {}

  /// Reads ``json()``. Bytes that are not a state give an empty one.
  init(json bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    let value: JSONValue
    do { value = try JSONValue(parsing: bytes) } catch { return }
    grants = (value["grants"]?.array ?? []).compactMap { grant in
      guard let job = grant["job"]?.string, let name = grant["class"]?.string, let at = grant["at"]?.time else {
        return nil
      }
      return Grant(job: job, className: name, at: at)
    }
    if let job = value["held"]?["job"]?.string, let until = value["held"]?["until"]?.time {
      held = Held(job: job, until: until)
    }
  }

  func json() -> [UInt8] {
    let object: JSONObject = [
      "grants": grants.map { ["job": $0.job, "class": $0.className, "at": $0.at] as JSONObject },
      "held": held.map { ["job": $0.job, "until": $0.until] as JSONObject },
    ]
    return object.bytes
  }
}

/// The Redis keys of delivery policies.
enum PolicyKeys {
  /// ``PolicyState``:
  /// | `martlet:{policy}:<policy>:<instance>` | string | as long as a rule needs it | JSON: `grants` (jobs that were
  /// allowed: `job`, `class`, `at`) and `held` (`job`, `until`) |
  static func state(_ policy: String, instance: String) -> String { "martlet:{policy}:\(policy):\(instance)" }
}
