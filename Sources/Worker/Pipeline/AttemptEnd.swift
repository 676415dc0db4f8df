import PushModel
import Redis

/// How many of the open devices an attempt has tried.
enum AttemptExtent {
  case complete
  /// A part: Redis did not let the attempt begin, or a broadcast stopped midway.
  case cutShort
  /// Nothing; the results of earlier attempts stay as Redis has them.
  case untouched
}

/// How an attempt has ended, besides the answers to its pushes.
struct AttemptEnd: Equatable {
  struct Fault: Equatable {
    let reason: String
    /// The job's own keys are at fault: the attempt counts, so that the job is not retried forever.
    var isOfJob = false
  }

  var extent = AttemptExtent.complete
  /// Devices of an earlier attempt that this one has not tried.
  var leftOpen: [DeviceToken] = []
  /// Why the attempt was cut short; nil if the worker stopped.
  var fault: Fault?
  /// Why the job is invalid for every device.
  var refusal: String?
  /// An operator has paused the broadcast.
  var isPaused = false
}

extension AttemptEnd.Fault {
  init(_ error: RedisError) {
    self.init(reason: "\(error)", isOfJob: error.isOfThisCommand)
  }
}
