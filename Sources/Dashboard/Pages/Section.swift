/// An entry of the navigation.
package struct Section: Sendable, Equatable {
  package let title: String
  /// The path of its page, without the slash.
  package let path: String
  /// The title of its group, one of ``groups``.
  package let group: String

  /// - Parameter path: nil for the title in lower case.
  package init(_ title: String, _ path: String? = nil, in group: String) {
    self.title = title
    self.path = path ?? title.lowercased()
    self.group = group
  }

  package static let groups = ["Now", "Delivery", "Access"]

  static let overview = Section("Overview", "", in: "Now")
  static let queues = Section("Queues", in: "Now")
  static let dead = Section("Dead letters", "dead", in: "Now")
  static let scheduled = Section("Scheduled and retries", "scheduled", in: "Now")
  static let broadcasts = Section("Broadcasts", in: "Now")
  package static let devices = Section("Devices", in: "Delivery")
  static let apps = Section("Apps", in: "Delivery")
  static let workers = Section("Workers", in: "Delivery")
  static let credentials = Section("Credentials", in: "Access")
  static let audit = Section("Audit", in: "Access")

  /// Those of the dashboard's own pages.
  static let own = [
    overview, queues, dead, scheduled, broadcasts, devices, apps, workers, credentials, audit,
  ]
}
