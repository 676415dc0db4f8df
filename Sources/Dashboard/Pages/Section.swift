/// An entry of the navigation.
enum Section: String, CaseIterable, Sendable {
  case overview
  case queues
  case dead
  case scheduled
  case broadcasts
  case devices
  case apps
  case workers
  case policies
  case credentials
  case audit

  /// The title of a group of entries, and its entries.
  static let groups: [(title: String, sections: [Section])] = [
    ("Now", [.overview, .queues, .dead, .scheduled, .broadcasts]),
    ("Delivery", [.devices, .apps, .workers, .policies]),
    ("Access", [.credentials, .audit]),
  ]

  var title: String {
    switch self {
    case .overview: "Overview"
    case .queues: "Queues"
    case .dead: "Dead letters"
    case .scheduled: "Scheduled and retries"
    case .broadcasts: "Broadcasts"
    case .devices: "Devices"
    case .apps: "Apps"
    case .workers: "Workers"
    case .policies: "Policies"
    case .credentials: "Credentials"
    case .audit: "Audit"
    }
  }

  /// The path of its page.
  var path: StaticString {
    switch self {
    case .overview: ""
    case .queues: "queues"
    case .dead: "dead"
    case .scheduled: "scheduled"
    case .broadcasts: "broadcasts"
    case .devices: "devices"
    case .apps: "apps"
    case .workers: "workers"
    case .policies: "policies"
    case .credentials: "credentials"
    case .audit: "audit"
    }
  }
}
