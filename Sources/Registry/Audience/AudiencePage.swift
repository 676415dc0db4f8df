/// A part of an app's audience.
public struct AudiencePage: Sendable, Equatable {
  public let devices: [Device]
  /// Entries for ``Registry/clean(app:_:completion:)``; never sent to.
  public let removals: [Removal]
  /// Where the next page begins; nil after the last.
  public let next: AudienceCursor?

  package init(devices: [Device], removals: [Removal], next: AudienceCursor?) {
    self.devices = devices
    self.removals = removals
    self.next = next
  }
}
