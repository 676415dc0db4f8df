package import Backup
import EventLoop
import Program

/// The files of other senders: docs/migrating.md.
package enum ImportsPart: Part {
  package static let deviceFormats: [DeviceFormat] = [
    // The answer of `ListEndpointsByPlatformApplication`.
    DeviceFormat("sns") { ObjectListReader(.sns(app: $0)) },
    // The CSV export of subscriptions.
    DeviceFormat("onesignal") { CSVReader(.oneSignal(app: $0)) },
    // Installations in JSON, or the export of registrations, one in XML a line.
    DeviceFormat("notification-hubs") { NotificationHubsReader(app: $0) },
    // Bodies of `POST /api/push`.
    DeviceFormat("gorush") { ObjectListReader(.gorush(app: $0)) },
    // CSV of the columns of `rpush_notifications` and `rpush_apps`.
    DeviceFormat("rpush") { CSVReader(.rpush(app: $0)) },
    DeviceFormat("csv") { CSVReader(.devices(app: $0)) },
  ]
}
