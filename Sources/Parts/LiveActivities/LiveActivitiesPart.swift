package import Dashboard
package import Usage
import EventLoop
package import Operations
package import Program
package import Sidecar
package import Worker

/// Live Activities and their channels: docs/live-activities.md.
package enum LiveActivitiesPart: Part {
  package static let commands: [any Command.Type] = [ChannelsCommand.self]
  package static let subjects = [
    ExplainedSubject(
      "activity", "explain a Live Activity: what it shows, which devices have an update token of it, what waits for one"
    ) { id, fleet, registry, isWhole in
      let found = try await ActivityReader.explain(id, fleet, registry, showsWholeTokens: isWhole)
      return (found.summary, found.object, found.isKnown)
    }
  ]
  package static let doctorFlags = [
    CommandOption("channels", "ask for every app which origins serve channels")
  ]

  package static func add(to worker: inout WorkerConfiguration, _ reader: inout EnvironmentReader) {
    worker.steps.append { context in
      // Of one process, one exchange for each activity runs at a time.
      let activities = Activities(connection: context.connection)
      let channels = ChannelLookup(context)
      return PartSteps(
        beforeDevices: ActivityAnnouncement(activities: activities, queue: context.queue),
        afterDevices: ActivityGate(activities: activities, channels: channels, queue: context.queue),
        lookup: channels)
    }
  }

  package static func add(to sidecar: inout SidecarConfiguration, _ reader: inout EnvironmentReader) {
    sidecar.apis.append { ActivityAPI($0) }
  }

  package static func add(to dashboard: inout DashboardConfiguration, _ reader: inout EnvironmentReader) {
    dashboard.pages.append { ActivityPage(context: $0) }
  }

  @EventLoop
  package static func examine(_ worker: WorkerConfiguration, _ flags: Set<String>) async -> [Finding] {
    await ChannelExamination(
      settings: ChannelSettings(worker), redis: worker.redis, isAsked: flags.contains("channels")
    ).findings()
  }
}
