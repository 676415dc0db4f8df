import EventLoop
import Gorush
import Imports
import Jobs
import LiveActivities
import Matrix
import Operations
import Policies
import Program
import QueueFormats
import Redis
import Tracing
import Webhook

/// The parts of the program. It can be built without any of them: `Tests/Parts/check-parts`.
enum Parts {
  static let all: [any Part.Type] = [
    QueueFormatsPart.self,
    ImportsPart.self,
    WebhookPart.self,
    TracingPart.self,
    LiveActivitiesPart.self,
    PoliciesPart.self,
    MatrixPart.self,
    GorushPart.self,
  ]

  /// Returns what operators are shown of the parts.
  @EventLoop
  static func statuses(_ connection: RedisClient) async throws(RedisError) -> [PartStatus] {
    var statuses: [PartStatus] = []
    for part in all {
      if let status = try await part.status(connection) { statuses.append(status) }
    }
    return statuses
  }

  /// The notification classes that jobs may name: those of the first part that defines any.
  static func classes(_ reader: inout EnvironmentReader) -> (any JobClasses)? {
    for part in all {
      if let classes = part.classes(&reader) { return classes }
    }
    return nil
  }

  static let settings = all.flatMap { $0.settings }
}
