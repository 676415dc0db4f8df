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
    case .dead: "Dead letters"
    case .scheduled: "Scheduled and retries"
    default: rawValue.capitalizedFirst
    }
  }

  /// The path of its page.
  var path: String { self == .overview ? "" : rawValue }
}
