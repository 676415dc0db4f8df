import Backup
import Credentials
import Jobs
import JSON
import PushModel

@testable import Sidecar

#if PART_GORUSH
  @testable import Gorush
#endif
#if PART_IMPORTS
  import Imports
#endif
#if PART_MATRIX
  @testable import Matrix
#endif
#if PART_POLICIES
  @testable import Policies
#endif
#if PART_QUEUEFORMATS
  import QueueFormats
#endif

/// What parts read.
enum PartsInput {
  static var deviceFormats: [DeviceFormat] {
    #if PART_IMPORTS
      ImportsPart.deviceFormats
    #else
      []
    #endif
  }

  static var classes: (any JobClasses)? {
    #if PART_POLICIES
      PolicyBook.standard
    #else
      nil
    #endif
  }

  static var queueFormats: [QueueFormat] {
    #if PART_QUEUEFORMATS
      QueueFormatsPart.formats
    #else
      []
    #endif
  }

  /// What APIs read from the body of a request.
  static func check(_ body: [UInt8]) throws(Violation) {
    #if PART_GORUSH
      try checkNotifications(body)
    #endif
    #if PART_MATRIX
      var notification: MatrixNotification?
      try RequestInput.checkRefusal { () throws(Refusal) in
        notification = try MatrixNotification(try RequestBody.object(body))
      }
      if let notification { try checkJobs(notification) }
    #endif
  }

  #if PART_GORUSH
    private static func checkNotifications(_ body: [UInt8]) throws(Violation) {
      guard let notifications = (try? JSONValue(parsing: body))?["notifications"]?.array else { return }
      var batch = GorushBatch(of: GorushCaller(nil))
      for notification in notifications { batch.add(notification) }
      for job in batch.jobs { try JSONText.requireValid(job, "a job of the gorush API") }
      for log in batch.logs { try JSONText.requireValid(log.bytes, "a log of the gorush API") }
      try require(batch.jobs.isEmpty == (batch.count == 0), "the gorush API counts \(batch.count) tokens")
    }
  #endif

  #if PART_MATRIX
    /// Requires that each job of a notification is one that a worker accepts.
    private static func checkJobs(_ notification: MatrixNotification) throws(Violation) {
      let pusher = Pusher(environment: nil, setAt: 0, address: "203.0.113.7")
      for device in notification.devices {
        guard let token = device.token, let push = MatrixPush(notification, to: device) else { continue }
        try JSONText.requireValid(push.payload, "the payload of a notification")
        try require(
          push.payload.count <= push.pushType.maximumPayloadBytes, "a payload has \(push.payload.count) bytes")
        let job = try? Job(
          parsing: push.job(notification, to: device, token, of: "com.example.app", pusher))
        try require(job != nil, "a worker refuses the job of a notification")
      }
    }
  #endif
}
